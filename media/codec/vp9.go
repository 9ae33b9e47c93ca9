package codec

import (
	"fmt"

	"github.com/moq-c4/moq-c4/media"
)

// describeVP9 reads the content of a vpcC box, version and flags included.
// VP Codec ISO Media File Format Binding, "VP Codec Configuration Box"
func describeVP9(config []byte) (Info, error) {
	if len(config) < 12 || config[0] != 1 {
		return Info{}, malformed("vpcC", "%d bytes, version is not 1", len(config))
	}
	return Info{
		Codec:   fmt.Sprintf("vp09.%02d.%02d.%02d", config[4], config[5], config[6]>>4),
		Kind:    media.Video,
		Reorder: 0,
	}, nil
}
