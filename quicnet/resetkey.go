package quicnet

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"os"

	"github.com/quic-go/quic-go"
)

// machineID identifies the machine, not the boot.
const machineID = "/etc/machine-id"

// resetKey makes the key of stateless resets. A server that was killed and started again answers packets of connections that
// it no longer knows with a reset that only it could make, and the peers reconnect at once
// instead of after their idle timeout. For that the key must outlive the process: it is derived from secret,
// or from what identifies the machine, and from the address.
// Who learns the key and a connection ID in use can end that connection, nothing else.
// RFC 9000 Section 10.3, Stateless Reset
func resetKey(secret []byte, addr string) *quic.StatelessResetKey {
	if len(secret) == 0 {
		if id, err := os.ReadFile(machineID); err == nil {
			secret = bytes.TrimSpace(id)
		}
	}
	var key quic.StatelessResetKey
	if len(secret) == 0 {
		rand.Read(key[:])
		return &key
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("moq stateless reset\x00" + addr))
	mac.Sum(key[:0])
	return &key
}
