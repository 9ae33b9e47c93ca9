package main

import (
	"context"
	"errors"
	"io"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
	"github.com/moq-c4/moq-c4/media"
	"github.com/moq-c4/moq-c4/media/catalog"
	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// maxCatalogBytes bounds a catalog.
const maxCatalogBytes = 4 << 20

// catalogFormat is one of the forms a broadcast's catalog may have.
type catalogFormat struct {
	track string
	parse func([]byte) (renditions []media.Rendition, skipped []error, err error)
}

// catalogFormats in the order in which they are asked for.
var catalogFormats = []catalogFormat{
	{catalog.MSFTrackName, func(b []byte) ([]media.Rendition, []error, error) {
		c, err := catalog.ParseMSF(b)
		if err != nil {
			return nil, nil, err
		}
		r, skipped := c.Renditions()
		return r, skipped, nil
	}},
	{catalog.HangTrackName, func(b []byte) ([]media.Rendition, []error, error) {
		c, err := catalog.ParseHang(b)
		if err != nil {
			return nil, nil, err
		}
		r, skipped := c.Renditions()
		return r, skipped, nil
	}},
}

// followCatalog subscribes to the broadcast's catalog, in the first form there is, and calls changed with
// what each new one lists. It goes on over restarts of the publisher until the session ends or changed fails.
func followCatalog(ctx context.Context, s *moqt.Session, f *flags, wait bool, changed func([]media.Rendition) error) error {
	var backoff cli.Backoff
	for {
		sub, format, err := subscribeCatalog(ctx, s, f, wait)
		if err != nil {
			return notFound(err, "the catalog of "+cli.FormatNamespace(f.namespace))
		}
		wait = true // it has been there
		for {
			in, err := sub.Next(ctx)
			if err != nil {
				f.log.Debug("catalog interrupted", "error", err)
				break
			}
			if in.Subgroup == nil {
				continue
			}
			if err := readCatalog(in.Subgroup, format, f, changed); err != nil {
				sub.Close()
				return err
			}
			backoff.Reset()
		}
		sub.Close()
		if err := cli.Sleep(ctx, backoff.Next()); err != nil {
			return err
		}
	}
}

// subscribeCatalog subscribes to the first form of catalog that the broadcast has. If it has none yet and that
// may be waited for, it waits for the preferred form.
func subscribeCatalog(ctx context.Context, s *moqt.Session, f *flags, wait bool) (sub *moqt.Subscription, format catalogFormat, err error) {
	track := wire.FullTrackName{Namespace: f.namespace}
	var first error
	for _, format := range catalogFormats {
		track.Name = format.track
		if sub, err = subscribe(ctx, s, track, false); err == nil {
			return sub, format, nil
		}
		if first == nil {
			first = err
		}
	}
	if !wait {
		return nil, catalogFormat{}, first
	}
	track.Name = catalogFormats[0].track
	sub, err = subscribe(ctx, s, track, true)
	return sub, catalogFormats[0], err
}

// readCatalog takes the first object of a group: those behind it are changes to it, which nobody
// sends without a new group for long.
func readCatalog(sg *moqt.SubgroupReader, format catalogFormat, f *flags, changed func([]media.Rendition) error) error {
	defer sg.Stop(wire.StreamCancelled)
	o, err := sg.Next()
	if err != nil {
		return nil
	}
	if o.ID != 0 || o.PayloadLen > maxCatalogBytes {
		f.log.Warn("catalog not read", "object", o.ID, "bytes", o.PayloadLen)
		return nil
	}
	b, err := io.ReadAll(sg)
	if err != nil {
		return nil
	}
	renditions, skipped, err := format.parse(b)
	if err != nil {
		f.log.Warn("catalog cannot be read", "format", format.track, "error", err)
		return nil
	}
	for _, why := range skipped {
		f.log.Info("track of the catalog skipped", "reason", why)
	}
	return changed(renditions)
}

// errStop ends followCatalog from within.
var errStop = errors.New("stop")
