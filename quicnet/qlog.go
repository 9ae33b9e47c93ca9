package quicnet

import (
	"context"
	"math"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlogwriter"
)

type tracerFunc = func(ctx context.Context, isClient bool, id quic.ConnectionID) qlogwriter.Trace

// qlogTracer returns nil if nothing is to be logged.
func (c *TransportConfig) qlogTracer() tracerFunc {
	if c.QLogs != nil {
		return c.QLogs.tracer
	}
	if c.QLogDir == "" {
		return nil
	}
	q := &QLogs{dir: c.QLogDir, max: math.MaxInt64, log: c.Logger}
	q.SetEvery(1)
	return q.tracer
}
