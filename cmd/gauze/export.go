package main

import (
	"fmt"
	"os"
	"time"

	"github.com/gauze-mcp/gauze/internal/views/otlp"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
)

// maxExportWait is how long the end of a wrap may wait for a collector. The tests set it.
var maxExportWait = time.Second

// newExporter starts what exports the calls of sessions with these options, nil unless the user
// configured it with OpenTelemetry's variables. A wrap whose configuration is wrong works the same.
func newExporter(o *proxy.Options, transport string) *otlp.Exporter {
	e, err := otlp.New(os.Getenv, func() otlp.About { return otlp.About{Version: versionText(), Transport: transport} })
	if err != nil {
		fmt.Fprintln(os.Stderr, "gauze: OTLP export is off:", err)
	}
	o.Tracer = e.Tracer()
	e.Start()
	return e
}
