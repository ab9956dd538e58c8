"""File formats of annotations: COCO, DOPE, Replicator's nodes, and pictures."""
