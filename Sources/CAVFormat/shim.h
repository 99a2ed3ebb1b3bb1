#include <libavformat/avformat.h>
#include <libavutil/opt.h>
