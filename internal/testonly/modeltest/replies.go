package modeltest

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"
)

// Reply answers one request.
type Reply func(*exchange)

// exchange is a request and its response.
type exchange struct {
	http.ResponseWriter
	request  *http.Request
	format   Format
	question Question
	closed   chan struct{}
}

// send writes a response.
func (e *exchange) send(status int, body any) {
	e.Header().Set("Content-Type", "application/json")
	e.WriteHeader(status)
	json.NewEncoder(e).Encode(body) // fails only if the client is gone
}

// wait returns when the client is gone or the server is closed.
func (e *exchange) wait() {
	select {
	case <-e.request.Context().Done():
	case <-e.closed:
	}
}

// Says answers with a text, such as JSON, a lie, or JSON in a code fence.
func Says(text string) Reply {
	return Answers(func(Question) string { return text })
}

// Answers answers with a text that depends on the question.
func Answers(answer func(Question) string) Reply {
	return func(e *exchange) {
		e.send(http.StatusOK, e.format.success(e.question, answer(e.question), complete))
	}
}

// Fenced answers with a text in a code fence, after a sentence.
func Fenced(text string) Reply { return Says("Here you go:\n```json\n" + text + "\n```\n") }

// Refuses declines to answer.
func Refuses() Reply {
	return func(e *exchange) {
		e.send(http.StatusOK, e.format.success(e.question, "I cannot help with that.", refused))
	}
}

// AtLimit answers with a text that ends at the limit of tokens.
func AtLimit(text string) Reply {
	return func(e *exchange) { e.send(http.StatusOK, e.format.success(e.question, text, atLimit)) }
}

// Status fails with a status.
func Status(status int) Reply { return Fails(status, http.StatusText(status), "") }

// RetryAfter fails with a status and the header Retry-After.
func RetryAfter(status int, value string) Reply {
	return Fails(status, http.StatusText(status), value)
}

// Fails fails with a status, a message, and, if it is not empty, the header Retry-After.
func Fails(status int, message, retryAfter string) Reply {
	return func(e *exchange) {
		if retryAfter != "" {
			e.Header().Set("Retry-After", retryAfter)
		}
		e.send(status, e.format.failure(status, message))
	}
}

// WithoutSchema rejects requests with a schema and answers the others with a text.
func WithoutSchema(text string) Reply {
	return func(e *exchange) {
		if e.question.Schema == nil {
			Says(text)(e)
			return
		}
		Fails(http.StatusBadRequest, e.format.schemaError(), "")(e)
	}
}

// Cut closes the connection in the middle of the body.
func Cut(text string) Reply {
	return func(e *exchange) {
		body, err := json.Marshal(e.format.success(e.question, text, complete))
		if err != nil {
			return
		}
		e.Header().Set("Content-Length", strconv.Itoa(len(body)))
		e.Write(body[:len(body)/2])
		http.NewResponseController(e.ResponseWriter).Flush() // fails only if the client is gone
		e.reset()
	}
}

// CutStream sends half of a body whose length is not announced, and ends it as if it were complete.
func CutStream(text string) Reply {
	return func(e *exchange) {
		body, err := json.Marshal(e.format.success(e.question, text, complete))
		if err != nil {
			return
		}
		e.Write(body[:len(body)/2])
	}
}

// Reset closes the connection instead of responding.
func Reset() Reply { return (*exchange).reset }

func (e *exchange) reset() { panic(http.ErrAbortHandler) }

// Silence does not respond until the client is gone.
func Silence() Reply { return (*exchange).wait }

// Slow sends its headers, and the rest of the response never.
func Slow() Reply {
	return func(e *exchange) {
		e.WriteHeader(http.StatusOK)
		http.NewResponseController(e.ResponseWriter).Flush() // fails only if the client is gone
		e.wait()
	}
}

// After answers after a delay, or not if the client is gone before.
func After(delay time.Duration, reply Reply) Reply {
	return func(e *exchange) {
		select {
		case <-time.After(delay):
			reply(e)
		case <-e.request.Context().Done():
		case <-e.closed:
		}
	}
}

// Redirects redirects to a URL.
func Redirects(url string) Reply {
	return func(e *exchange) {
		e.Header().Set("Location", url)
		e.WriteHeader(http.StatusTemporaryRedirect)
	}
}

// Page responds with a page for people, as a login page, a proxy or a wrong path does.
func Page(status int, text string) Reply {
	return func(e *exchange) {
		e.Header().Set("Content-Type", "text/html")
		e.WriteHeader(status)
		io.WriteString(e, text)
	}
}
