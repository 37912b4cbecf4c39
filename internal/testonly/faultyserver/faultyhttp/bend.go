package faultyhttp

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The faults of the table that alter an HTTP exchange.

func rst(x *exchange, _ []byte) { x.c.reset() }

func fin(x *exchange, _ []byte) { _ = x.c.Close() }

func status(code int) func(*exchange, []byte) {
	return func(x *exchange, _ []byte) { http.Error(x.w, http.StatusText(code), code) }
}

func later(code int, when string) func(*exchange, []byte) {
	return func(x *exchange, _ []byte) {
		value := when
		switch when {
		case "seconds":
			value = x.s.cfg.RetryAfter
		case "date":
			value = time.Now().Add(2 * time.Second).UTC().Format(http.TimeFormat)
		}
		x.w.Header().Set("Retry-After", value)
		http.Error(x.w, http.StatusText(code), code)
	}
}

func unauthorized(metadata string) func(*exchange, []byte) {
	return func(x *exchange, _ []byte) {
		at := metadata
		if at == "" {
			at = x.s.origin() + "/.well-known/oauth-protected-resource"
		}
		x.w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token", resource_metadata="`+at+`"`)
		http.Error(x.w, "unauthorized", http.StatusUnauthorized)
	}
}

func lostSession(x *exchange, _ []byte) {
	x.refuse(nil, refuse(http.StatusNotFound, -32001, "session not found"))
}

func forgetSession(x *exchange, _ []byte) {
	x.s.ExpireSessions()
	lostSession(x, nil)
}

func loginPage(x *exchange, _ []byte) {
	x.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(x.w, "<!doctype html><title>Sign in</title><h1>Sign in to continue</h1><form action=/login></form>")
}

func redirect(code int, same bool) func(*exchange, []byte) {
	return func(x *exchange, _ []byte) {
		to := x.s.cfg.RedirectTo
		if same {
			to = moved
			if x.r.URL.RawQuery != "" {
				to += "?" + x.r.URL.RawQuery
			}
		}
		x.w.Header().Set("Location", to)
		x.w.WriteHeader(code)
	}
}

// raw takes the connection over from net/http, writes to it what net/http never would, and closes
// it.
func (x *exchange) raw(f func(w io.Writer)) {
	c, _, err := http.NewResponseController(x.w).Hijack()
	if err != nil {
		return // the server was just killed
	}
	defer c.Close()
	f(c)
}

const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"

func cutBody(x *exchange, answer []byte) {
	x.raw(func(w io.Writer) {
		_, _ = fmt.Fprintf(w, "%sContent-Length: %d\r\n\r\n%s", head, len(answer), answer[:len(answer)/2])
		x.c.cut()
	})
}

func giantHeaders(x *exchange, answer []byte) {
	x.raw(func(w io.Writer) {
		_, _ = fmt.Fprintf(w, "%sX-Giant: %s\r\nContent-Length: %d\r\n\r\n%s", head, strings.Repeat("x", 1<<20), len(answer), answer)
	})
}

func manyHeaders(x *exchange, answer []byte) {
	var b strings.Builder
	for i := range 10_000 {
		b.WriteString("X-Many-" + strconv.Itoa(i) + ": " + strconv.Itoa(i) + "\r\n")
	}
	x.raw(func(w io.Writer) {
		_, _ = fmt.Fprintf(w, "%s%sContent-Length: %d\r\n\r\n%s", head, b.String(), len(answer), answer)
	})
}

// slowHeaders writes until the client or the server is gone.
func slowHeaders(x *exchange, _ []byte) {
	x.raw(func(w io.Writer) {
		tick := time.NewTicker(x.s.cfg.Drip)
		defer tick.Stop()
		for text := head + "X-Slow: "; ; text += "x" {
			if _, err := io.WriteString(w, text[:1]); err != nil {
				return
			}
			text = text[1:]
			select {
			case <-tick.C:
			case <-x.g.ctx.Done():
				return
			}
		}
	})
}

// bombParts returns the beginning of the bomb and the part that is repeated: 1 MiB of spaces each,
// compressed. Gzip allows many members in a row.
var bombParts = sync.OnceValues(func() (first, rest []byte) {
	pack := func(text string) []byte {
		var b bytes.Buffer
		z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
		_, _ = io.WriteString(z, text)
		_, _ = z.Write(bytes.Repeat([]byte(" "), 1<<20))
		_ = z.Close()
		return b.Bytes()
	}
	return pack("{"), pack("")
})

func gzipBomb(x *exchange, answer []byte) {
	first, rest := bombParts()
	x.raw(func(w io.Writer) {
		if _, err := io.WriteString(w, head+"Content-Encoding: gzip\r\nConnection: close\r\n\r\n"+string(first)); err != nil {
			return
		}
		for range 1023 {
			if _, err := w.Write(rest); err != nil {
				return
			}
		}
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write(bytes.TrimPrefix(answer, []byte("{")))
		_ = z.Close()
		_, _ = w.Write(b.Bytes())
	})
}

func badLength(x *exchange, answer []byte) {
	x.raw(func(w io.Writer) {
		_, _ = fmt.Fprintf(w, "%sContent-Length: %d\r\n\r\n%s", head, len(answer)+1000, answer)
	})
}

func shortLength(x *exchange, answer []byte) {
	x.raw(func(w io.Writer) {
		_, _ = fmt.Fprintf(w, "%sContent-Length: %d\r\n\r\n%s", head, len(answer)/2, answer)
	})
}

func badChunk(x *exchange, answer []byte) {
	x.raw(func(w io.Writer) {
		_, _ = fmt.Fprintf(w, "%sTransfer-Encoding: chunked\r\n\r\n10\r\n%s\r\nzz\r\n%s\r\n0\r\n\r\n", head, answer[:16], answer[16:])
	})
}

func http09(x *exchange, answer []byte) {
	x.raw(func(w io.Writer) { _, _ = w.Write(append(bytes.Clone(answer), '\n')) })
}
