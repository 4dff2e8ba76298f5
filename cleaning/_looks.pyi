from cleaning.classifier.features import SimilarityGroups
from cleaning.leaf_table import LeafTable

def read_looks(scan: LeafTable) -> SimilarityGroups: ...
