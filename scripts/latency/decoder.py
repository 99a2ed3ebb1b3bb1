"""An H.264 decoder that shows each picture as soon as its access unit is there.

It calls libavcodec 59 (Debian 12) by ctypes: one thread, since each further one holds back a
picture. The offsets below are those of its AVPacket and AVFrame on 64-bit machines.
"""

import ctypes
import ctypes.util

H264 = 27
PACKET_DATA = 24  # AVPacket.data
FRAME_DATA, FRAME_LINESIZE, FRAME_WIDTH, FRAME_HEIGHT = 0, 64, 104, 108
AGAIN = -11

_codec = ctypes.CDLL("libavcodec.so.59")
_util = ctypes.CDLL("libavutil.so.57")
for _name in ("avcodec_find_decoder", "avcodec_alloc_context3", "av_packet_alloc"):
    getattr(_codec, _name).restype = ctypes.c_void_p
_util.av_frame_alloc.restype = ctypes.c_void_p


class Decoder:
    def __init__(self):
        self._packet = ctypes.c_void_p(_codec.av_packet_alloc())
        self._frame = ctypes.c_void_p(_util.av_frame_alloc())
        codec = ctypes.c_void_p(_codec.avcodec_find_decoder(H264))
        self._context = ctypes.c_void_p(_codec.avcodec_alloc_context3(codec))
        for option, value in ((b"threads", b"1"), (b"flags", b"low_delay")):
            _util.av_opt_set(self._context, option, value, 0)
        _check(_codec.avcodec_open2(self._context, codec, None), "avcodec_open2")

    def pictures(self, access_unit):
        """Yields a `Picture` for each that `access_unit` completes; valid until the next."""
        _check(_codec.av_new_packet(self._packet, len(access_unit)), "av_new_packet")
        data = ctypes.c_void_p.from_address(self._packet.value + PACKET_DATA).value
        ctypes.memmove(data, bytes(access_unit), len(access_unit))
        _check(_codec.avcodec_send_packet(self._context, self._packet), "avcodec_send_packet")
        _codec.av_packet_unref(self._packet)
        while (result := _codec.avcodec_receive_frame(self._context, self._frame)) != AGAIN:
            _check(result, "avcodec_receive_frame")
            yield Picture(self._frame.value)


class Picture:
    def __init__(self, address):
        self._luma = ctypes.c_void_p.from_address(address + FRAME_DATA).value
        self._stride = ctypes.c_int.from_address(address + FRAME_LINESIZE).value
        self.width = ctypes.c_int.from_address(address + FRAME_WIDTH).value
        self.height = ctypes.c_int.from_address(address + FRAME_HEIGHT).value

    def luma(self, x, y):
        return ctypes.c_uint8.from_address(self._luma + y * self._stride + x).value


def _check(result, call):
    if result < 0:
        raise ValueError(f"{call}: error {result}")
