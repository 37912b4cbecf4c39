package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream/life"
)

// What a status says of the request: did it run, and is it worth a second try?
func TestWhatAStatusMeans(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for status, want := range map[int]life.Loss{
		400: {Delivery: fault.Refused, Code: fault.HTTPRefused, Final: true},
		401: {Delivery: fault.Refused, Code: fault.AuthRequired, Final: true},
		403: {Delivery: fault.Refused, Code: fault.AuthDenied, Final: true},
		405: {Delivery: fault.Refused, Code: fault.HTTPRefused, Final: true},
		406: {Delivery: fault.Refused, Code: fault.HTTPRefused, Final: true},
		413: {Delivery: fault.Refused, Code: fault.RequestTooLarge, Final: true},
		415: {Delivery: fault.Refused, Code: fault.HTTPRefused, Final: true},
		421: {Delivery: fault.Refused, Code: fault.HTTPRefused, Final: true},
		429: {Delivery: fault.Refused, Code: fault.RateLimited, Final: false, After: time.Second},
		500: {Delivery: fault.Unknown, Code: fault.HTTPUnavailable, Final: false},
		502: {Delivery: fault.Unknown, Code: fault.HTTPUnavailable, Final: false},
		503: {Delivery: fault.Unknown, Code: fault.HTTPUnavailable, Final: false},
		504: {Delivery: fault.Unknown, Code: fault.HTTPUnavailable, Final: false},
		303: {Delivery: fault.Unknown, Code: fault.RedirectRefused, Final: true},
		307: {Delivery: fault.Refused, Code: fault.RedirectRefused, Final: true},
		404: {Delivery: fault.Refused, Code: fault.HTTPRefused, Final: true},
		408: {Delivery: fault.Refused, Code: fault.HTTPRefused, Final: false},
		425: {Delivery: fault.Refused, Code: fault.HTTPRefused, Final: false},
		409: {Delivery: fault.Refused, Code: fault.HTTPRefused, Final: true},
		422: {Delivery: fault.Refused, Code: fault.HTTPRefused, Final: true},
		200: {Delivery: fault.Unknown, Code: fault.NotMCP, Final: true},
		302: {Delivery: fault.Unknown, Code: fault.RedirectRefused, Final: true},
	} {
		res := &http.Response{StatusCode: status, Header: http.Header{}, Request: &http.Request{URL: &url.URL{}}}
		got := (&Remote{}).refusal(res, nil, now)
		if got.Delivery != want.Delivery || got.Code != want.Code || got.Final != want.Final || got.After != want.After {
			t.Errorf("%d: %+v, want %+v", status, got, want)
		}
	}
}

func TestACredentialIsNamedNeverShown(t *testing.T) {
	t.Parallel()
	res := &http.Response{StatusCode: 401, Header: http.Header{"Www-Authenticate": {`Bearer realm="x", error="invalid_token"`}}, Request: &http.Request{URL: &url.URL{}}}
	got := (&Remote{header: []launch.Header{{Name: "Authorization", Value: "Bearer s3cret-value", Source: "the variable TOKEN"}}}).refusal(res, nil, time.Time{}).Detail
	for _, word := range []string{"401", "Authorization from the variable TOKEN", "Bearer", `realm="x"`} {
		if !strings.Contains(got, word) {
			t.Errorf("%q does not say %q", got, word)
		}
	}
	if strings.Contains(got, "s3cret") {
		t.Errorf("%q", got)
	}
}
