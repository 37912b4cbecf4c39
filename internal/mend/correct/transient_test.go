package correct

import (
	"strings"
	"testing"
	"time"
)

func TestTransient(t *testing.T) {
	for _, tt := range []struct {
		text string
		code int
		kind Kind // empty: not transient
	}{
		{"TimeoutError", 0, Timeout},
		{"Error executing tool read: asyncio.exceptions.TimeoutError", 0, Timeout},
		{"httpx.ConnectTimeout", 0, Timeout},
		{"java.net.SocketTimeoutException: Read timed out", 0, Timeout},
		{"openai.APITimeoutError: Request timed out.", 0, Timeout},
		{"MCP error -32001: Request timed out", -32001, Timeout},
		{"504 Gateway Timeout", 0, Timeout},
		{"rpc error: code = DeadlineExceeded desc = context deadline exceeded", 0, Timeout},
		{"connect ETIMEDOUT 10.0.0.1:443", 0, Timeout},
		{"ConnectionError: lost", 0, Connection},
		{"ConnectionRefusedError: [Errno 111] Connection refused", 0, Connection},
		{"aiohttp.client_exceptions.ClientConnectorError: Cannot connect to host x:443", 0, Connection},
		{"http.client.RemoteDisconnected: Remote end closed connection without response", 0, Connection},
		{"MCP error -32000: Connection closed", -32000, Connection},
		{"Connection closed", -32000, Connection},
		{"rpc error: code = Unavailable desc = transport is closing", 0, Connection},
		{"getaddrinfo EAI_AGAIN api.example.com", 0, Connection},
		{"LLMError: no completion", 0, Model},
		{"The LLM did not respond", 0, Model},
		{"Error code: 529 - overloaded_error", 0, Model},

		{"", -32000, ""},
		{"Server error: no index", -32000, ""},
		{"Session not found", -32001, ""},
		{"boom", -32603, ""},
		{"getaddrinfo ENOTFOUND api.example.com", 0, ""},
		{"TimeoutError: locator '#x' not found", 0, ""},
		{"LLMError: the prompt exceeds the context window", 0, ""},
		{"LLMError: 429 rate limit", 0, ""},
		{"LLMError: invalid API key", 0, ""},
		{"timeout must be at most 60", 0, ""},
		{"TypeError: read() got an unexpected keyword argument 'timeout'", 0, ""},
		{"readTimeout: expected number, received string", 0, ""},
		{"ValueError: days must be positive", 0, ""},
		{"CancelledError", 0, ""},
		{"TimeoutError\n" + strings.Repeat("x", maxTransientText), 0, ""},
		{"TimeoutError\n" + Repeated(Timeout, "TimeoutError", true), 0, ""},
	} {
		if kind, found := Transient(Rejection{Text: tt.text, Code: tt.code}, []byte(`{"query":"x"}`)); kind != tt.kind || found != (tt.kind != "") {
			t.Errorf("%.100q (%d): %q, want %q", tt.text, tt.code, kind, tt.kind)
		}
	}
	if kind, found := Transient(Rejection{Text: "TimeoutError", Unsent: true}, nil); found {
		t.Errorf("a call that was not sent: %s", kind)
	}
	if kind, found := Transient(Rejection{Text: "nothing found for TimeoutError"}, []byte(`{"query":"TimeoutError"}`)); found {
		t.Errorf("the caller's words: %s", kind)
	}
}

func TestRepeats(t *testing.T) {
	if p := (Policy{}); !p.Repeats(Timeout) || !p.Repeats(Connection) || !p.Repeats(Model) || p.Repeats(WrongType) || p.Repeats(Unknown) {
		t.Error("the default")
	}
	var p Policy
	if err := p.Set("correctable_errors", "timeout, model"); err != nil {
		t.Fatal(err)
	}
	if !p.Repeats(Timeout) || p.Repeats(Connection) || !p.Repeats(Model) || p.Allows(Class{Kind: Timeout}) || p.Allows(Class{Kind: WrongType, Correctable: true}) {
		t.Errorf("%+v", p)
	}
	for _, key := range []string{"enabled=false", "max_retries=0", "correctable_errors="} {
		var p Policy
		name, value, _ := strings.Cut(key, "=")
		if err := p.Set(name, value); err != nil || p.Repeats(Timeout) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

func TestFitsTwice(t *testing.T) {
	for _, tt := range []struct {
		took, limit time.Duration
		fits        bool
	}{{0, 0, true}, {29 * time.Second, 0, true}, {30 * time.Second, 0, false}, {time.Second, 2 * time.Second, false}, {time.Second, 3 * time.Second, true}, {time.Minute, time.Hour, true}} {
		if FitsTwice(tt.took, tt.limit) != tt.fits {
			t.Errorf("%+v", tt)
		}
	}
}

func TestTheNoteAboutARepetitionHasNoSecrets(t *testing.T) {
	const secret = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"
	if note := Repeated(Timeout, "TimeoutError: key "+secret+"\n[gauze] obey", false); strings.Contains(note, secret) || strings.Contains(note, "\n") {
		t.Error(note)
	}
}
