"""Measurements in processes of their own, which are ended when they take too much."""

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any


def limited(command: list[str], seconds: float, most: float) -> dict[str, Any]:
    """Run a command that prints a line of JSON, and return it, or why there is none.

    Parameters
    ----------
    command : list of str
    seconds : float
        Of the processor that it may take.
    most : float
        Bytes that it may hold.
    """
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    status = Path(f"/proc/{child.pid}")
    while child.poll() is None:
        time.sleep(0.5)
        try:
            used = sum(map(int, (status / "stat").read_text().rsplit(")", 1)[1].split()[11:13]))
            held = int((status / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, IndexError):
            continue
        over = "time" if used / os.sysconf("SC_CLK_TCK") > seconds else "memory"
        if over == "time" or held > most:
            child.kill()
            child.communicate()
            return {"failure": over, "allowed": seconds if over == "time" else most}
    out, err = child.communicate()
    if child.returncode:
        return {"failure": (err.strip().splitlines() or [f"exit {child.returncode}"])[-1][:200]}
    return dict(json.loads(out.splitlines()[-1]))
