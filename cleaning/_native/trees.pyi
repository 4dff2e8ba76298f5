import numpy as np

class Forest:
    def __init__(
        self,
        feature: np.ndarray,
        threshold: np.ndarray,
        left: np.ndarray,
        right: np.ndarray,
        value: np.ndarray,
        roots: np.ndarray,
        outputs: int,
    ) -> None: ...
    def sums(self, rows: np.ndarray, indexes: np.ndarray | None = None) -> np.ndarray: ...
