from .scene_view import SceneView as SceneView
