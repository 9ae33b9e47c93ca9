package codec

import (
	"bytes"
	"testing"
)

var avcC = []byte{1, 0x42, 0xc0, 0x1e, 0xff, 0xe1, 0, 3, 0x67, 1, 2, 1, 0, 2, 0x68, 3}

func TestParameterSets(t *testing.T) {
	hvcC := append(make([]byte, 22), 2, 0xa0, 0, 1, 0, 2, 0x40, 1, 0xa1, 0, 2, 0, 1, 0x42, 0, 1, 0x43)
	for _, tt := range []struct {
		codec  string
		config []byte
		want   []byte
	}{
		{"avc1.42c01e", avcC, []byte{0, 0, 0, 3, 0x67, 1, 2, 0, 0, 0, 2, 0x68, 3}},
		{"hvc1.1.6.L93", hvcC, []byte{0, 0, 0, 2, 0x40, 1, 0, 0, 0, 1, 0x42, 0, 0, 0, 1, 0x43}},
		{"avc3.42c01e", []byte{1, 0x42, 0xc0, 0x1e, 0xff, 0xe0, 0}, nil},
		{"vp09.00.10.08", avcC, nil},
		{"avc1.42c01e", avcC[:len(avcC)-1], nil},
		{"hvc1.1.6.L93", hvcC[:len(hvcC)-1], nil},
	} {
		if got := ParameterSets(tt.codec, tt.config); !bytes.Equal(got, tt.want) {
			t.Errorf("%s: got %x, want %x", tt.codec, got, tt.want)
		}
	}
	for from, to := range map[string]string{"avc1.64001f": "avc3.64001f", "hvc1.1": "hev1.1", "avc3.64001f": "avc3.64001f", "vp09.00": "vp09.00"} {
		if got := InBand(from); got != to {
			t.Errorf("%s in band is %s, want %s", from, got, to)
		}
	}
}

func FuzzParameterSets(f *testing.F) {
	f.Add("avc1", avcC)
	f.Fuzz(func(t *testing.T, codec string, config []byte) {
		if n := len(ParameterSets(codec, config)); n > 2*len(config)+4 {
			t.Errorf("%d bytes of %d", n, len(config))
		}
	})
}
