// A module of its own, so that the product does not depend on the peer it is tested with.
module github.com/moq-c4/moq-c4/cmd/internal/e2e/moqtransport

go 1.26.0

replace github.com/moq-c4/moq-c4 => ../../../..

require (
	github.com/Eyevinn/moqtransport v0.9.0
	github.com/moq-c4/moq-c4 v0.0.0-00010101000000-000000000000
	github.com/quic-go/quic-go v0.64.1
	github.com/quic-go/webtransport-go v0.13.0
)

require (
	github.com/dunglas/httpsfv v1.1.1 // indirect
	github.com/mengelbart/qlog v0.1.0 // indirect
	github.com/quic-go/qpack v0.6.0 // indirect
	golang.org/x/crypto v0.57.0 // indirect
	golang.org/x/net v0.59.0 // indirect
	golang.org/x/sync v0.23.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	golang.org/x/text v0.42.0 // indirect
)
