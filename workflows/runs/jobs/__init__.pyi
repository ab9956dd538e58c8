from .collect_job import CollectJob as CollectJob
from .recording_job import RecordingJob as RecordingJob
from .recording_job import writer_name as writer_name
