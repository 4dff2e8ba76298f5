"""The learned method `default`, judged on each page by a model that never saw a page of its host.

`python -m research.training DATA --folds FOLDER` writes the models, `fold-0.npz` and so on, and `folds.json`: for each
host the number of the model that was trained without it.
"""

from __future__ import annotations

import json

from cleaning import Options
from cleaning.classifier.model import Model
from cleaning.clean import decide_page
from cleaning.metadata.statements import read_statements
from cleaning.methods import default


class Folds:
    """The methods of several models, and which of them judges the pages of a host."""

    def __init__(self, methods, hosts):
        self._methods = methods
        self._hosts = hosts

    @classmethod
    def read(cls, folder):
        """Return the folds of a folder; raises OSError, ValueError or ModelError for one that is not complete."""
        hosts = json.loads((folder / "folds.json").read_text("utf-8"))["hosts"]
        return cls({fold: _method(folder / f"fold-{fold}.npz") for fold in sorted({*hosts.values()})}, hosts)

    def check(self, hosts):
        """Raise ValueError, naming some, for hosts that are in no fold."""
        unknown = sorted({*hosts} - self._hosts.keys())
        if unknown:
            raise ValueError(
                f"{len(unknown)} hosts are in no fold, such as {', '.join(unknown[:3])}: train the folds on this data"
            )

    def text(self, page, host, options=None):
        """Return the text that the model without this host keeps of a page."""
        method = self._methods[self._hosts[host]]
        decided = decide_page(page, read_statements(page.root), method, options or Options())
        return "\n".join(decision.block.text for decision in decided.decisions if decision.kept)


def _method(path):
    model = Model.load(path)
    return default.trained_method(lambda: model)
