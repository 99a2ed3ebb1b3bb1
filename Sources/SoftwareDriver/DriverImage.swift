internal import CVA

/// An image of the client's: the layout, and the id of the buffer with its pixels.
final class DriverImage {
  let layout: SurfaceLayout
  /// What the client was given.
  var image: VAImage
  /// The surface whose own pixels these are, for a derived image.
  var surface: Surface?

  init(layout: SurfaceLayout, surface: Surface?) {
    self.layout = layout
    image = layout.image
    self.surface = surface
  }
}
