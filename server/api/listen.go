package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"strings"
)

// tokenBytesMin is asked of a token that guards more than loopback: 16 characters of base64 are 96
// bits.
const tokenBytesMin = 16

// ErrOpenWithoutToken refuses a plane that everybody could reach and nobody would have to prove
// anything to.
var ErrOpenWithoutToken = errors.New("listening beyond loopback needs a bearer token")

// listen opens address, but beyond loopback only with a token.
func listen(plane, address, token string) (*net.TCPListener, error) {
	resolved, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s plane: address %q cannot be resolved: %w; write host:port", plane, address, err)
	}
	if err := validateToken(token); err != nil {
		return nil, fmt.Errorf("%s plane: %w", plane, err)
	}
	if !resolved.IP.IsLoopback() && len(token) < tokenBytesMin {
		return nil, fmt.Errorf("%s plane: %w of %d characters or more, and %s is not a loopback address; "+
			"give a token file, or listen on 127.0.0.1", plane, ErrOpenWithoutToken, tokenBytesMin, address)
	}
	l, err := net.ListenTCP("tcp", resolved)
	if err != nil {
		return nil, fmt.Errorf("%s plane: %w; another node may be running there: stop it or choose another port", plane, err)
	}
	return l, nil
}

func validateToken(token string) error {
	for _, c := range []byte(token) {
		if c <= ' ' || c >= 0x7f {
			return errors.New("the bearer token must be of visible ASCII characters without spaces; look for a line break at its end")
		}
	}
	return nil
}

// bearer checks tokens. Both sides are hashed, so that the time tells neither content nor length.
type bearer struct {
	needed bool
	sum    [sha256.Size]byte
}

func newBearer(token string) bearer {
	return bearer{needed: token != "", sum: sha256.Sum256([]byte(token))}
}

// allows judges the value of an Authorization header.
func (b *bearer) allows(authorization []byte) bool {
	if !b.needed {
		return true
	}
	const scheme = "bearer "
	if len(authorization) <= len(scheme) || !strings.EqualFold(string(authorization[:len(scheme)]), scheme) {
		return false
	}
	sum := sha256.Sum256(authorization[len(scheme):])
	return subtle.ConstantTimeCompare(sum[:], b.sum[:]) == 1
}
