package doctor

import (
	"testing"

	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/upstream"
)

func TestZZ(t *testing.T) {
	for _, s := range []string{
		"connect ECONNREFUSED 127.0.0.1:5432", "401 bad credentials", "Error: Authentication Failed: Bad credentials", "getaddrinfo ENOTFOUND api.foo.example",
		"fetch failed: self-signed certificate", "password authentication failed for user \"x\"", `database "shop" does not exist`, "fetch failed", "",
		"Request failed with status code 401", "HTTP 401: Unauthorized", "Redis connection to 127.0.0.1:6379 failed - connect ECONNREFUSED 127.0.0.1:6379",
		"[Errno 111] Connection refused", "Could not connect to Elasticsearch: ConnectionError(... Failed to establish a new connection: [Errno 111] Connection refused)",
		"WEATHER_API_KEY environment variable is not set", "Missing environment variable: ACME_TOKEN", "API key is missing. Set ACME_API_KEY.",
		"dial tcp: lookup db.internal on 10.0.0.2:53: no such host", "x509: certificate signed by unknown authority",
		"403 Forbidden", "Not Found", "relation \"users\" does not exist", "ENOENT: no such file or directory, open '/x'", "Invalid token: unexpected end of input at line 3",
		"token budget exceeded", "The password must have 8 characters", "Unauthorized", "invalid_token: The access token expired",
		"MongoServerSelectionError: connect ECONNREFUSED ::1:27017, connect ECONNREFUSED 127.0.0.1:27017",
		"sqlalchemy.exc.OperationalError: (psycopg2.OperationalError) connection to server at \"localhost\" (127.0.0.1), port 5432 failed: Connection refused",
		"Access denied for user 'app'@'localhost' (using password: YES)",
	} {
		f := upstream.FailedCall{Tool: "t", Text: s, Arguments: []byte(`{"sql":"select 1"}`)}
		d := &CallDoctor{Machine: ThisMachine()}
		spec := launch.Spec{Command: "node", Args: []string{"x.js"}}
		sus := d.Suspects(spec, f)
		g := Diagnose(caseOfCall(spec, s))
		t.Logf("%q suspects=%v shown=%v\n   %s %s %v\n   %s | %s | %q", s, sus, ofSetup(g, f), g.Category, g.Cause, g.Confidence, g.Explanation, g.Fix, g.Reasons)
	}
}
