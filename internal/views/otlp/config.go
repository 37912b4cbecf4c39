package otlp

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// signal is where traces or metrics are sent.
type signal struct {
	url      string
	header   http.Header
	gzip     bool
	timeout  time.Duration // for one batch, with repetitions
	interval time.Duration // between two exports of metrics
	client   *http.Client
}

// configure reads OpenTelemetry's variables for traces or metrics. Without an endpoint and without an
// exporter chosen by name, it returns nil: nothing is exported.
func configure(lookup func(string) string, name, path string) (*signal, error) {
	// of returns a variable of this signal, or the one for all signals.
	of := func(setting string) string {
		return cmp.Or(lookup("OTEL_EXPORTER_OTLP_"+name+"_"+setting), lookup("OTEL_EXPORTER_OTLP_"+setting))
	}
	switch exporter := lookup("OTEL_" + name + "_EXPORTER"); {
	case exporter == "" && of("ENDPOINT") != "", exporter == "otlp":
	case exporter == "", exporter == "none":
		return nil, nil
	default:
		return nil, fmt.Errorf("OTEL_%s_EXPORTER=%s is not supported: must be otlp or none", name, exporter)
	}
	if p := cmp.Or(of("PROTOCOL"), "http/protobuf"); p != "http/protobuf" {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL=%s is not supported: must be http/protobuf, usually on port 4318", p)
	}
	s := &signal{header: http.Header{}, timeout: 10 * time.Second, interval: time.Minute}
	s.url = lookup("OTEL_EXPORTER_OTLP_" + name + "_ENDPOINT")
	if s.url == "" {
		s.url = strings.TrimSuffix(cmp.Or(lookup("OTEL_EXPORTER_OTLP_ENDPOINT"), "http://localhost:4318"), "/") + "/" + path
	}
	if u, err := url.Parse(s.url); err != nil || u.Host == "" || !slices.Contains([]string{"http", "https"}, u.Scheme) {
		return nil, fmt.Errorf("invalid OTEL_EXPORTER_OTLP_ENDPOINT: must be a URL such as http://localhost:4318")
	}
	headers, err := pairs(of("HEADERS"))
	if err != nil {
		return nil, fmt.Errorf("invalid OTEL_EXPORTER_OTLP_HEADERS: must be KEY=VALUE pairs separated by commas")
	}
	for _, h := range headers {
		s.header.Set(h[0], h[1])
	}
	s.gzip = of("COMPRESSION") == "gzip"
	for _, d := range []struct {
		to   *time.Duration
		name string
		text string
	}{{&s.timeout, "OTEL_EXPORTER_OTLP_TIMEOUT", of("TIMEOUT")}, {&s.interval, "OTEL_METRIC_EXPORT_INTERVAL", lookup("OTEL_METRIC_EXPORT_INTERVAL")}} {
		if d.text == "" {
			continue
		}
		ms, err := strconv.Atoi(d.text)
		if err != nil || ms <= 0 || ms > 1<<30 {
			return nil, fmt.Errorf("invalid %s: must be a number of milliseconds above 0", d.name)
		}
		*d.to = time.Duration(ms) * time.Millisecond
	}
	s.client = &http.Client{
		// A redirect would send the headers, which may have a key, to a different host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return s, nil
}

// resourceOf returns what is exported about this process, encoded.
func resourceOf(lookup func(string) string, about About) ([]byte, error) {
	given, err := pairs(lookup("OTEL_RESOURCE_ATTRIBUTES"))
	if err != nil {
		return nil, fmt.Errorf("invalid OTEL_RESOURCE_ATTRIBUTES: must be KEY=VALUE pairs separated by commas")
	}
	values := map[string]string{"service.name": "gauze"}
	order := []string{"service.name", "service.version", "service.instance.id"}
	values["service.version"], values["service.instance.id"] = about.Version, strconv.Itoa(os.Getpid())+"-"+strconv.FormatInt(time.Now().UnixNano(), 36)
	for _, pair := range given {
		if _, known := values[pair[0]]; !known {
			order = append(order, pair[0])
		}
		values[pair[0]] = pair[1]
	}
	if name := lookup("OTEL_SERVICE_NAME"); name != "" {
		values["service.name"] = name
	}
	var m message
	for _, key := range order {
		m.attribute(1, key, values[key])
	}
	return m, nil
}

// pairs reads KEY=VALUE,KEY=VALUE, where values are percent-encoded.
func pairs(text string) (all [][2]string, err error) {
	for part := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		key, value, found := strings.Cut(part, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if key = strings.TrimSpace(key); !found || key == "" || err != nil {
			return nil, fmt.Errorf("invalid pair")
		}
		all = append(all, [2]string{key, value})
	}
	return all, nil
}
