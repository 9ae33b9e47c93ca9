package catalog

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/moq-c4/moq-c4/media"
)

// MSFTrackName is the name of the track that carries the MSF catalog. In its
// groups object 0 is a whole catalog; we publish nothing else.
const MSFTrackName = "catalog"

// MSFVersion is the version of the catalogs we build. Players differ: some take
// only this string, some only the number 1 of draft-00.
const MSFVersion = "draft-01"

// MSF is an MSF catalog. [MSF] Section "Catalog"
type MSF struct {
	Version     Text       `json:"version"`               // draft-00 had a number
	GeneratedAt Integer    `json:"generatedAt,omitempty"` // ms since the Unix epoch
	IsComplete  bool       `json:"isComplete,omitempty"`
	Tracks      []MSFTrack `json:"tracks"`
	// InitDataList has to come after the tracks.
	InitDataList []MSFInitData `json:"initDataList,omitempty"`
}

// MSFTrack is a track object. [MSF] Section "Track Object Fields"
type MSFTrack struct {
	Namespace        string   `json:"namespace,omitempty"`
	Name             string   `json:"name"`
	Packaging        string   `json:"packaging"`
	IsLive           bool     `json:"isLive"`
	Role             string   `json:"role,omitempty"`
	Label            string   `json:"label,omitempty"`
	RenderGroup      Integer  `json:"renderGroup,omitempty"`
	AltGroup         Integer  `json:"altGroup,omitempty"`
	Codec            string   `json:"codec,omitempty"`
	Width            Integer  `json:"width,omitempty"`
	Height           Integer  `json:"height,omitempty"`
	Framerate        float64  `json:"framerate,omitempty"`
	Timescale        Integer  `json:"timescale,omitempty"`
	SampleRate       Integer  `json:"samplerate,omitempty"`
	ChannelConfig    Text     `json:"channelConfig,omitempty"`
	Bitrate          Integer  `json:"bitrate,omitempty"`
	MaxGroupDuration Integer  `json:"maxGroupDuration,omitempty"` // ms
	Lang             string   `json:"lang,omitempty"`
	Depends          []string `json:"depends,omitempty"`

	// MaxGrpSapStartingType is 1 or 2 for packaging cmaf. [CMSF] Section "Catalog description"
	MaxGrpSapStartingType Integer `json:"maxGrpSapStartingType,omitempty"`

	// InitRef names an entry of the initialization data list. InitData is the
	// same data in place, as [CMSF] draft-00 and players of its time have it. For
	// packaging loc it is the decoder configuration.
	InitRef  string `json:"initRef,omitempty"`
	InitData string `json:"initData,omitempty"` // base64

	// Delivery "datagram" is our own field: the objects travel in datagrams.
	Delivery string `json:"delivery,omitempty"`
}

// deliveryDatagram is the value of MSFTrack.Delivery.
const deliveryDatagram = "datagram"

// MSFInitData is an entry of the initialization data list.
type MSFInitData struct {
	ID   string `json:"id"`
	Type string `json:"type"` // "inline"
	Data string `json:"data"` // base64
}

// renderGroup is the render group of all tracks of a broadcast: they are to be
// shown together.
const renderGroup = 1

// NewMSF describes the renditions. Those in datagrams come last, because players
// that do not know our field take the first sound track they can decode.
func NewMSF(renditions []media.Rendition, now time.Time) *MSF {
	m := &MSF{Version: MSFVersion, GeneratedAt: Integer(now.UnixMilli()), Tracks: []MSFTrack{}}
	for _, datagram := range []bool{false, true} {
		for _, r := range renditions {
			if r.Datagram == datagram {
				m.add(r)
			}
		}
	}
	return m
}

func (m *MSF) add(r media.Rendition) {
	t := r.Track
	e := MSFTrack{
		Name: r.Name, Packaging: string(r.Packaging), IsLive: true, Role: t.Kind.String(), Label: t.Label,
		RenderGroup: renderGroup, AltGroup: Integer(r.AltGroup), Codec: t.Codec, Timescale: Integer(t.Timescale),
		Width: Integer(t.Width), Height: Integer(t.Height), Framerate: t.Framerate,
		SampleRate: Integer(t.SampleRate), Bitrate: Integer(bitrate(t)), Lang: t.Language,
	}
	if t.Channels > 0 {
		e.ChannelConfig = Text(strconv.Itoa(t.Channels))
	}
	if r.Datagram {
		e.Delivery = deliveryDatagram
	}
	init := t.Config
	if r.Packaging == media.CMAF {
		init = t.Init
		e.MaxGrpSapStartingType = 2
	}
	if len(init) > 0 {
		e.InitData = base64.StdEncoding.EncodeToString(init)
		e.InitRef = m.initRef(e.InitData)
	}
	m.Tracks = append(m.Tracks, e)
}

// initRef is the id of the list entry with this data, new if need be.
func (m *MSF) initRef(data string) string {
	for _, i := range m.InitDataList {
		if i.Data == data {
			return i.ID
		}
	}
	id := "init" + strconv.Itoa(len(m.InitDataList))
	m.InitDataList = append(m.InitDataList, MSFInitData{ID: id, Type: "inline", Data: data})
	return id
}

// Marshal is the catalog as JSON.
func (m *MSF) Marshal() []byte { return marshal(m) }

// ParseMSF reads a catalog object. Unknown fields are ignored; a version other
// than those we know is refused, as the draft demands, and so is an update that
// is not a whole catalog.
func ParseMSF(data []byte) (*MSF, error) {
	var m struct {
		MSF
		DeltaUpdate json.RawMessage `json:"deltaUpdate"`
	}
	if err := unmarshal("MSF", data, &m); err != nil {
		return nil, err
	}
	if m.DeltaUpdate != nil {
		return nil, fmt.Errorf("MSF catalog: delta updates are not handled (%w)", media.ErrUnsupported)
	}
	switch v := m.Version; {
	case v == "":
		return nil, fmt.Errorf("MSF catalog: field %q is missing (%w)", "version", media.ErrMalformed)
	case v != MSFVersion && v != "draft-00" && v != "1":
		return nil, fmt.Errorf("MSF catalog: version %q is not known (%w)", shorten(string(v)), media.ErrUnsupported)
	}
	if len(m.Tracks) > maxTracks {
		return nil, fmt.Errorf("MSF catalog: %d tracks, more than %d (%w)", len(m.Tracks), maxTracks, media.ErrMalformed)
	}
	return &m.MSF, nil
}

// Renditions lists the audio and video tracks that this module can unpack, and
// says for each of the others why not. Track ids are the places in the list,
// from 1.
func (m *MSF) Renditions() (renditions []media.Rendition, skipped []error) {
	for i, e := range m.Tracks {
		r, err := m.rendition(e)
		if err != nil {
			skipped = append(skipped, fmt.Errorf("MSF track %q: %w", shorten(e.Name), err))
			continue
		}
		r.Track.ID = uint32(i + 1)
		renditions = append(renditions, r)
	}
	return renditions, skipped
}

func (m *MSF) rendition(e MSFTrack) (media.Rendition, error) {
	r := media.Rendition{
		Name: e.Name, Packaging: media.Packaging(e.Packaging), AltGroup: int(e.AltGroup),
		Datagram: e.Delivery == deliveryDatagram,
	}
	t := &media.Track{
		Kind: kindOf(e.Role, e.Codec), Codec: e.Codec, Label: e.Label, Language: e.Lang, Timescale: e.Timescale.timescale(),
		Width: int(e.Width), Height: int(e.Height), Framerate: e.Framerate,
		SampleRate: int(e.SampleRate), Channels: channels(string(e.ChannelConfig)), Bitrate: int(e.Bitrate),
	}
	r.Track = t
	init, err := m.initData(e)
	if err != nil {
		return r, err
	}
	switch {
	case e.Namespace != "":
		return r, fmt.Errorf("it is in another namespace, %q (%w)", shorten(e.Namespace), media.ErrUnsupported)
	case t.Kind == 0 || e.Codec == "":
		return r, fmt.Errorf("role %q, codec %q: neither audio nor video (%w)", shorten(e.Role), shorten(e.Codec), media.ErrUnsupported)
	case r.Packaging == media.LOC:
		t.Config = init
	case r.Packaging == media.CMAF:
		if err := useInit(t, init); err != nil {
			return r, err
		}
	default:
		return r, fmt.Errorf("packaging %q is not handled (%w)", shorten(e.Packaging), media.ErrUnsupported)
	}
	setPriority(&r)
	return r, checkTrack(t)
}

// initData is the initialization data of a track, in place or by reference.
func (m *MSF) initData(e MSFTrack) ([]byte, error) {
	data := e.InitData
	if data == "" && e.InitRef != "" {
		for _, i := range m.InitDataList {
			if i.ID == e.InitRef && i.Type == "inline" {
				data = i.Data
			}
		}
		if data == "" {
			return nil, fmt.Errorf("field %q: %q is not in the list (%w)", "initRef", shorten(e.InitRef), media.ErrMalformed)
		}
	}
	b, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return nil, fmt.Errorf("field %q: %w (%w)", "initData", err, media.ErrMalformed)
	}
	return b, nil
}

// kindOf goes by the role, and by the codec where that is missing.
func kindOf(role, codec string) media.Kind {
	switch role {
	case "video":
		return media.Video
	case "audio":
		return media.Audio
	case "":
	default:
		return 0
	}
	for _, prefix := range []string{"avc1", "avc3", "hvc1", "hev1", "av01", "vp09"} {
		if strings.HasPrefix(codec, prefix) {
			return media.Video
		}
	}
	if codec == "opus" || strings.HasPrefix(codec, "mp4a") {
		return media.Audio
	}
	return 0
}

// channels reads a channel configuration: a number, or one of two words.
func channels(s string) int {
	switch s {
	case "mono":
		return 1
	case "stereo":
		return 2
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > 255 {
		return 0
	}
	return n
}
