"""Published experiments run again, and studies beside peers: a folder a document or a topic.

An experiment has the numbers printed in its document and ours, a study has a table of ours beside
what a user would take instead. Results lie beside the modules; ``run.py`` runs both.
"""
