package media

import (
	"testing"
	"time"
)

func TestCaptureTime(t *testing.T) {
	at := time.UnixMicro(1_790_000_000_123_456)
	us := uint64(at.UnixMicro())
	for _, tt := range []struct {
		name       string
		properties []Property
		want       time.Time
	}{
		{"none", nil, time.Time{}},
		{"LOC", []Property{{ID: PropertyTimestamp, Value: us}}, at},
		{"older drafts", []Property{{ID: PropertyTimestampOldest, Value: 1}, {ID: PropertyTimestampOld, Value: us}}, at},
		{"captured later", []Property{{ID: PropertyTimestamp, Value: us - 7}, {ID: PropertyCaptureOffset, Value: 14}}, at},
		{"captured earlier", []Property{{ID: PropertyTimestamp, Value: us + 7}, {ID: PropertyCaptureOffset, Value: 13}}, at},
		{"a media time", []Property{{ID: PropertyTimescale, Value: 90000}, {ID: PropertyTimestamp, Value: us}}, time.Time{}},
		{"nonsense", []Property{{ID: PropertyTimestamp, Value: 1<<64 - 1}}, time.Time{}},
		{"nonsense offset", []Property{{ID: PropertyTimestamp, Value: us}, {ID: PropertyCaptureOffset, Value: 1<<64 - 1}}, time.Time{}},
	} {
		got, ok := CaptureTime(tt.properties)
		if !got.Equal(tt.want) || ok == tt.want.IsZero() {
			t.Errorf("%s: got %v, %v, want %v", tt.name, got, ok, tt.want)
		}
	}
}
