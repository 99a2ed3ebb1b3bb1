/// A file of the viewer page; they lie in `Page/` and are built into the program.
enum PageFile: String {
  case index = "/"
  case style = "/page.css"
  case icon = "/page.svg"
  case page = "/page.js"
  case wire = "/wire.js"
  case codecs = "/codecs.js"
  case source = "/source.js"
  case outputs = "/outputs.js"
  case listening = "/listening.js"
  case sound = "/sound.js"
  case soundSource = "/soundsource.js"
  case camera = "/camera.js"
  case setup = "/setup.js"
  case words = "/words.js"

  init?(path: String) { self.init(rawValue: path) }

  var document: HTTPDocument { HTTPDocument(type: type, bytes: bytes) }

  private var type: String {
    switch self {
    case .index: "text/html; charset=utf-8"
    case .style: "text/css; charset=utf-8"
    case .icon: "image/svg+xml"
    case .page, .wire, .codecs, .source, .outputs, .listening,
      .sound, .soundSource, .camera, .setup, .words:
      "text/javascript; charset=utf-8"
    }
  }

  private var bytes: [UInt8] {
    switch self {
    case .index: PackageResources.index_html
    case .style: PackageResources.page_css
    case .icon: PackageResources.page_svg
    case .page: PackageResources.page_js
    case .wire: PackageResources.wire_js
    case .codecs: PackageResources.codecs_js
    case .source: PackageResources.source_js
    case .outputs: PackageResources.outputs_js
    case .listening: PackageResources.listening_js
    case .sound: PackageResources.sound_js
    case .soundSource: PackageResources.soundsource_js
    case .camera: PackageResources.camera_js
    case .setup: PackageResources.setup_js
    case .words: PackageResources.words_js
    }
  }
}
