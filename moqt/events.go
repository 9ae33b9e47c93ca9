package moqt

import "github.com/moq-c4/moq-c4/moqt/wire"

// An EventLogger is a [Conn] that can write events of the session beside its own, as into a qlog file. The names of the
// events are those of draft-pardue-moq-qlog-moq-events.
type EventLogger interface {
	// LogsEvents reports whether this connection writes events. It does not change.
	LogsEvents() bool

	// LogEvent writes one. It may be called by several goroutines at once.
	LogEvent(name string, fields ...EventField)
}

// EventField is one field of an event: text, or a number if there is none.
type EventField struct {
	Name   string
	Text   string
	Number uint64
}

// eventLogger returns where the events of a connection go, nil for nowhere.
func eventLogger(conn Conn) EventLogger {
	if l, ok := conn.(EventLogger); ok && l.LogsEvents() {
		return l
	}
	return nil
}

// The events. Each does nothing on a connection that writes none.

func (s *Session) logMessage(event string, t wire.MessageType) {
	if s.events != nil {
		s.events.LogEvent("moqt:control_message_"+event, EventField{Name: "message_type", Text: t.String()})
	}
}

func (s *Session) logSubgroup(event string, alias uint64, h *SubgroupHeader) {
	if s.events != nil {
		s.events.LogEvent("moqt:subgroup_header_"+event, EventField{Name: "track_alias", Number: alias},
			EventField{Name: "group_id", Number: h.Group}, EventField{Name: "subgroup_id", Number: h.Subgroup},
			EventField{Name: "publisher_priority", Number: uint64(h.Priority)})
	}
}

func (s *Session) logDatagram(event string, d *wire.Datagram) {
	if s.events != nil {
		s.events.LogEvent("moqt:object_datagram_"+event, EventField{Name: "track_alias", Number: d.TrackAlias},
			EventField{Name: "group_id", Number: d.GroupID}, EventField{Name: "object_id", Number: d.ObjectID},
			EventField{Name: "length", Number: uint64(len(d.Payload))})
	}
}
