package main

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"
)

// liveTokenBytesMin is what a node asks of its token too: 16 characters of base64 are 96 bits.
const liveTokenBytesMin = 16

// liveAddress settles where the page listens: a port alone is on loopback, and beyond loopback a token is needed.
func liveAddress(asked, token string) (string, error) {
	if _, err := strconv.Atoi(asked); err == nil {
		asked = ":" + asked
	}
	host, port, err := net.SplitHostPort(asked)
	if err != nil {
		return "", fmt.Errorf("--http %q is no address; pass a port such as 8080, or HOST:PORT", asked)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return "", fmt.Errorf("--http %q: the port must be a number from 1 to 65535", asked)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	switch {
	case isLoopbackHost(host) || len(token) >= liveTokenBytesMin:
	case token == "":
		return "", fmt.Errorf("--http %s can be reached from other machines and no token is set, so anybody could watch; set %s or %s_FILE, or listen on 127.0.0.1", asked, envToken, envToken)
	default:
		return "", fmt.Errorf("--http %s can be reached from other machines and the token has %d characters, which can be guessed; "+
			"set one of %d or more (openssl rand -base64 24), or listen on 127.0.0.1", asked, len(token), liveTokenBytesMin)
	}
	return net.JoinHostPort(host, port), nil
}

func isLoopbackHost(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// sessionCookie carries the proof that a browser has shown the token. It is made anew for each run and says nothing of the token.
const sessionCookie = "rejoin_watch"

// liveGuard decides who may see the run.
type liveGuard struct {
	token   string
	session string
}

func newLiveGuard(token string) liveGuard {
	g := liveGuard{token: token}
	if token != "" {
		key := make([]byte, 32)
		rand.Read(key)
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(token))
		g.session = hex.EncodeToString(mac.Sum(nil))
	}
	return g
}

// hostIsOurs refuses names that a foreign page could have pointed at loopback; with a token the token decides.
func (g liveGuard) hostIsOurs(ctx *fasthttp.RequestCtx) bool {
	if g.token != "" {
		return true
	}
	host := string(ctx.Host())
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return isLoopbackHost(strings.Trim(host, "[]"))
}

// admits takes the cookie of a browser or the header of a program.
func (g liveGuard) admits(ctx *fasthttp.RequestCtx) bool {
	if g.token == "" {
		return true
	}
	if sameSecret(ctx.Request.Header.Cookie(sessionCookie), g.session) {
		return true
	}
	bearer, ok := strings.CutPrefix(string(ctx.Request.Header.Peek(fasthttp.HeaderAuthorization)), "Bearer ")
	return ok && sameSecret([]byte(bearer), g.token)
}

// login gives a browser its cookie for the token.
func (g liveGuard) login(ctx *fasthttp.RequestCtx) bool {
	if !sameSecret(ctx.PostArgs().Peek("token"), g.token) {
		return false
	}
	var c fasthttp.Cookie
	c.SetKey(sessionCookie)
	c.SetValue(g.session)
	c.SetPath("/")
	c.SetHTTPOnly(true)
	c.SetSameSite(fasthttp.CookieSameSiteStrictMode)
	ctx.Response.Header.SetCookie(&c)
	return true
}

// sameSecret compares in a time that does not tell how much was right.
func sameSecret(got []byte, want string) bool {
	a, b := sha256.Sum256(got), sha256.Sum256([]byte(want))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}
