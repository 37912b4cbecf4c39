package upstream

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/fault"
)

// The table of RECOVERY for statuses: did it run, and is it worth a second try?
func TestWhatAStatusMeans(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for status, want := range map[int]Loss{
		400: {fault.Unsent, fault.HTTPRefused, "", true, 0, 400},
		401: {fault.Unsent, fault.AuthRequired, "", true, 0, 401},
		403: {fault.Unsent, fault.AuthDenied, "", true, 0, 403},
		405: {fault.Unsent, fault.HTTPRefused, "", true, 0, 405},
		406: {fault.Unsent, fault.HTTPRefused, "", true, 0, 406},
		413: {fault.Unsent, fault.RequestTooLarge, "", true, 0, 413},
		415: {fault.Unsent, fault.HTTPRefused, "", true, 0, 415},
		421: {fault.Unsent, fault.HTTPRefused, "", true, 0, 421},
		429: {fault.Unsent, fault.RateLimited, "", false, time.Second, 429},
		500: {fault.Unknown, fault.HTTPUnavailable, "", false, 0, 500},
		502: {fault.Unknown, fault.HTTPUnavailable, "", false, 0, 502},
		503: {fault.Unknown, fault.HTTPUnavailable, "", false, 0, 503},
		504: {fault.Unknown, fault.HTTPUnavailable, "", false, 0, 504},
		303: {fault.Unknown, fault.RedirectRefused, "", true, 0, 303},
		307: {fault.Unsent, fault.RedirectRefused, "", true, 0, 307},
		409: {fault.Unknown, fault.HTTPRefused, "", true, 0, 409},
		422: {fault.Unknown, fault.HTTPRefused, "", true, 0, 422},
		200: {fault.Unknown, fault.NotMCP, "", true, 0, 200},
		302: {fault.Unknown, fault.RedirectRefused, "", true, 0, 302},
	} {
		res := &http.Response{StatusCode: status, Header: http.Header{}, Request: &http.Request{URL: &url.URL{}}}
		got := (&Remote{}).refusal(res, nil, now)
		if got.Delivery != want.Delivery || got.Code != want.Code || got.Final != want.Final || got.After != want.After {
			t.Errorf("%d: %+v, want %+v", status, got, want)
		}
	}
}

func TestRetryAfterInBothForms(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "2": 2 * time.Second, " 3 ": 3 * time.Second, "-1": 0, "soon": 0, "1.5": 0, "86400": 24 * time.Hour,
		"Fri, 02 Jan 2026 03:04:15 GMT": 10 * time.Second, "Fri, 02 Jan 2026 03:04:00 GMT": 0,
	} {
		if got := retryAfter(&http.Response{Header: http.Header{"Retry-After": {value}}}, now); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}

func TestACredentialIsNamedNeverShown(t *testing.T) {
	res := &http.Response{StatusCode: 401, Header: http.Header{"Www-Authenticate": {`Bearer realm="x", error="invalid_token"`}}, Request: &http.Request{URL: &url.URL{}}}
	got := (&Remote{header: []Header{{Name: "Authorization", Value: "Bearer s3cret-value", Source: "the variable TOKEN"}}}).refusal(res, nil, time.Time{}).Detail
	for _, word := range []string{"401", "Authorization from the variable TOKEN", "Bearer", `realm="x"`} {
		if !strings.Contains(got, word) {
			t.Errorf("%q does not say %q", got, word)
		}
	}
	if strings.Contains(got, "s3cret") {
		t.Errorf("%q", got)
	}
}

func TestWhichHeadersAUserMaySet(t *testing.T) {
	for name, value := range map[string]string{
		"Mcp-Session-Id": "x", "mcp-method": "x", "Content-Type": "x", "Idempotency-Key": "x", "X\r\nY": "x", "": "x", "X-A": "a\r\nb", "Accept": "x", "Connection": "x",
	} {
		if CheckHeader(name, value) == nil {
			t.Errorf("%q: %q may be set", name, value)
		}
	}
	for _, name := range []string{"Authorization", "X-API-Key", "Cookie"} {
		if err := CheckHeader(name, "v"); err != nil {
			t.Error(err)
		}
	}
	for _, address := range []string{"", "example.com/mcp", "ftp://example.com", "http://", "http://a b/", "https://x/#y", "://", "127.0.0.1:7300/mcp", "http://host:99999/mcp", "http://host:0/"} {
		if CheckURL(address) == nil {
			t.Errorf("%q is a URL", address)
		}
	}
	if err := CheckURL("http://user:hunter2hunter2@[::1"); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v", err)
	}
}
