from cleaning.learned.looks import Looks
from cleaning.scan import Scan

def read_looks(scan: Scan) -> Looks: ...
