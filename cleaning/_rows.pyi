import numpy as np

from cleaning.learned.counted import Counted
from cleaning.learned.features import Signs

def fill_features(rows: np.ndarray, seen: Counted, title: str, signs: Signs) -> None: ...
def fill_context(rows: np.ndarray, seen: Counted, scores: np.ndarray, weights: np.ndarray) -> None: ...
