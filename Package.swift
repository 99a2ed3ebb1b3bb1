// swift-tools-version: 6.2
import PackageDescription

// The walls of the house: a C type in a wrapper's `package` interface does not build, a leaked
// import does not build, and each unsafe step carries the word `unsafe`.
let house: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .strictMemorySafety(),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .treatAllWarnings(as: .error),
]

// For what the agent is made of: the compiler's regular expressions, which a mere `contains("word")`
// brings in, take 1.5 MB of addresses.
let lean: [SwiftSetting] =
  house + [
    .unsafeFlags(["-Xfrontend", "-disable-implicit-string-processing-module-import"])
  ]

// Tests may use Foundation and raw pointers; everything else holds for them too.
let tests: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .treatAllWarnings(as: .error),
]

let package = Package(
  name: "porthole",
  products: [
    .executable(name: "capture-agent", targets: ["CaptureAgent"]),
    .executable(name: "host-relay", targets: ["HostRelay"]),
    // libva adds `_drv_video` to a driver's name: this one is called `libporthole`.
    .library(name: "porthole_drv_video", type: .dynamic, targets: ["DriverModule"]),
    .library(name: "porthole_inner_drv_video", type: .dynamic, targets: ["InnerDriverModule"]),
  ],
  targets: [
    // C libraries of the system, as Debian packages them.
    .systemLibrary(name: "CLinux"),
    .systemLibrary(name: "CPipeWire", pkgConfig: "libpipewire-0.3"),
    .systemLibrary(name: "CVA", pkgConfig: "libva"),
    .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd"),
    .systemLibrary(name: "CUV", pkgConfig: "libuv"),
    .systemLibrary(name: "CWebSockets", pkgConfig: "libwebsockets"),
    .systemLibrary(name: "COpenSSL", pkgConfig: "openssl"),
    .systemLibrary(name: "CAVFormat", pkgConfig: "libavformat"),
    .systemLibrary(name: "COpus", pkgConfig: "opus"),

    // C of our own: what Swift cannot say, and nothing that decides.
    .target(name: "CMemoryGuard"),
    .target(name: "CJPEG"),
    .target(name: "CPixelKernels", cSettings: [.unsafeFlags(["-O3"])]),

    // Rooms that both processes use, or the agent and its driver.
    .target(name: "Pixels", dependencies: ["CPixelKernels"], swiftSettings: house),
    .target(name: "Wire", swiftSettings: lean),
    .target(name: "Bitstream", swiftSettings: lean),
    .target(name: "Posix", dependencies: ["CLinux"], swiftSettings: lean),
    .target(name: "Report", dependencies: ["CLinux", "Posix"], swiftSettings: lean),
    .target(name: "CommandOptions", dependencies: ["Posix"], swiftSettings: lean),

    // The software driver: all its logic, and apart from it the module that libva loads. The flags
    // of the module must not reach a test's link, so no test names it.
    .target(
      name: "SoftwareDriver",
      dependencies: ["CVA", "CLinux", "Bitstream", "CPixelKernels", "Pixels"],
      swiftSettings: lean),
    .target(
      name: "DriverModule", dependencies: ["CVA", "SoftwareDriver"], exclude: ["exports.map"],
      swiftSettings: lean,
      linkerSettings: [
        .unsafeFlags([
          "-static-stdlib", "-Xlinker", "--version-script=Sources/DriverModule/exports.map",
          "-Xlinker", "--gc-sections",
        ])
      ]),
    // The same driver for the agent, which has it inside: Swift's runtime is mapped once then.
    .target(
      name: "InnerDriverModule",
      linkerSettings: [.unsafeFlags(["-static-stdlib", "-nostartfiles"])]),

    // The agent.
    .target(
      name: "PipeWire", dependencies: ["CPipeWire", "CLinux", "Posix"], swiftSettings: lean),
    .target(name: "VAAPI", dependencies: ["CVA"], swiftSettings: lean),
    .executableTarget(
      name: "CaptureAgent",
      dependencies: [
        "Wire", "Bitstream", "Posix", "Report", "CommandOptions", "PipeWire", "VAAPI", "CSystemd",
        "CLinux", "CMemoryGuard", "CPixelKernels", "CJPEG", "Pixels", "CVA", "SoftwareDriver",
        "COpus",
      ],
      swiftSettings: lean),

    // The relay.
    .executableTarget(
      name: "HostRelay",
      dependencies: [
        "Wire", "Bitstream", "Posix", "Report", "CommandOptions", "CUV", "CWebSockets", "CAVFormat",
        "COpenSSL", "CLinux",
      ],
      resources: [
        .embedInCode("Web/Page/index.html"), .embedInCode("Web/Page/page.css"),
        .embedInCode("Web/Page/page.svg"), .embedInCode("Web/Page/page.js"),
        .embedInCode("Web/Page/wire.js"), .embedInCode("Web/Page/codecs.js"),
        .embedInCode("Web/Page/source.js"), .embedInCode("Web/Page/outputs.js"),
        .embedInCode("Web/Page/listening.js"), .embedInCode("Web/Page/sound.js"),
        .embedInCode("Web/Page/soundsource.js"), .embedInCode("Web/Page/camera.js"),
        .embedInCode("Web/Page/setup.js"), .embedInCode("Web/Page/words.js"),
      ],
      swiftSettings: house),

    .target(
      name: "TestSupport", dependencies: ["Wire", "Bitstream", "Posix"], path: "Tests/TestSupport",
      swiftSettings: tests),
    // A PipeWire of a test's own, and a screen on it.
    .target(
      name: "CaptureSupport",
      dependencies: ["PipeWire", "CPipeWire", "CLinux", "Posix", "TestSupport"],
      path: "Tests/CaptureSupport", swiftSettings: tests),
    .testTarget(name: "WireTests", dependencies: ["Wire", "TestSupport"], swiftSettings: tests),
    .testTarget(
      name: "BitstreamTests", dependencies: ["Bitstream", "TestSupport"],
      swiftSettings: tests),
    .testTarget(
      name: "PosixTests", dependencies: ["Posix", "Report", "CommandOptions", "TestSupport"],
      swiftSettings: tests),
    .testTarget(
      name: "CaptureAgentTests",
      dependencies: [
        "CaptureAgent", "Wire", "Bitstream", "Posix", "Report", "PipeWire", "VAAPI",
        "CommandOptions", "CPixelKernels", "CMemoryGuard", "CLinux", "CPipeWire", "Pixels",
        "TestSupport",
      ],
      swiftSettings: tests),
    .testTarget(
      name: "HostRelayTests",
      dependencies: ["HostRelay", "Bitstream", "Wire", "Posix", "Report", "TestSupport"],
      swiftSettings: tests),
    .testTarget(
      name: "SoftwareDriverTests",
      dependencies: [
        "SoftwareDriver", "Bitstream", "CPixelKernels", "Pixels", "CVA", "CLinux", "TestSupport",
      ],
      swiftSettings: tests),
    .testTarget(
      name: "IntegrationTests",
      dependencies: [
        "CaptureAgent", "PipeWire", "VAAPI", "Wire", "Bitstream", "Posix", "Report", "CPipeWire",
        "CLinux", "Pixels", "TestSupport", "CaptureSupport",
      ],
      swiftSettings: tests),
    .testTarget(
      name: "StressTests",
      dependencies: ["Wire", "Bitstream", "PipeWire", "TestSupport", "CaptureSupport"],
      swiftSettings: tests),
    .testTarget(
      name: "EndToEndTests",
      dependencies: ["Wire", "Bitstream", "PipeWire", "Posix", "TestSupport", "CaptureSupport"],
      swiftSettings: tests),
  ]
)
