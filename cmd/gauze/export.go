package main

import (
	"cmp"
	"fmt"
	"os"
	"time"

	"github.com/gauze-mcp/gauze/internal/otlp"
	"github.com/gauze-mcp/gauze/internal/proxy"
	"github.com/gauze-mcp/gauze/internal/redact"
)

// maxExportWait is how long the end of a wrap may wait for a collector. The tests set it.
var maxExportWait = time.Second

// newExporter returns what exports the calls of a wrap, nil unless the user configured it with
// OpenTelemetry's variables. A wrap whose configuration is wrong works the same.
func newExporter(o *proxy.Options, transport string) *otlp.Exporter {
	e, err := otlp.New(os.Getenv, func() otlp.About {
		return otlp.About{Version: versionText(), Server: redact.Quote(cmp.Or(o.Name, o.Spec.Shown())), Transport: transport}
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "gauze: nothing is exported over OTLP:", err)
	}
	o.Tracer = e.Tracer()
	return e
}
