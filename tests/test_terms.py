"""Pages and docstrings use the terms that people search for, and no riddles."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *(
        path
        for part in ("tutorials", "how-to", "contribute")
        for path in sorted((ROOT / "docs" / part).glob("*.md"))
    ),
    *sorted((ROOT / "src").rglob("*.py")),
]
# What somebody wrote, and what people call it.
GLOSSARY = {
    r"leaves? one out best": "the lowest leave-one-out error",
    r"goes? down (the|that) slope": "gradient descent",
    r"among the combinations": "minimize over combinations, a low-rank approximation",
    r"moves? the walls": "tighten the constraints",
    r"positive definite only beside": "conditionally positive definite",
    r"length scale a (feature|column)": "a length scale per feature (ARD)",
    r"with few functions": "low-rank approximation",
    r"a centre a (row|class)": "one centre per ...",
    r"looks among": "searches, minimizes over",
    r"the machine that is the least": "the minimizer",
    r"ill[- ]?behaved": "ill-conditioned",
    r"overfitt?ed? itself": "overfits",
}


def found(text: str, words: dict[str, str]) -> list[str]:
    """Return what should be called otherwise, line by line."""
    plain = re.sub(r"\]\([^)]*\)", "]", text)  # names of files are not prose
    return [
        f"line {plain[: match.start()].count(chr(10)) + 1}: {match[0]!r}, say {better!r}"
        for pattern, better in words.items()
        for match in re.finditer(pattern, plain, re.IGNORECASE)
    ]


def test_words_are_those_of_the_glossary():
    wrong = [
        f"{page.relative_to(ROOT)}, {each}"
        for page in PAGES
        for each in found(page.read_text(encoding="utf-8"), GLOSSARY)
    ]
    assert wrong == []


def test_the_check_finds_riddles():
    text = "A width that\nleaves one out best, and a [page](with few functions.md)."
    assert found(text, GLOSSARY) == [
        "line 2: 'leaves one out best', say 'the lowest leave-one-out error'"
    ]
