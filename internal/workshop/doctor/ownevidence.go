package doctor

import "cmp"

// ownEvidence is what gauze sees itself of the failures of each category when it starts or reaches the
// server, and what then remains to the words of the server or its tools. docs/broken.md shows it.
var ownEvidence = []struct {
	category Category
	sees     string
	wording  string // "" if none is needed
}{
	{CommandNotFound, "the system's error, exit status 127, and whether the program is on the server's PATH",
		"which program a script looks for"},
	{ConnectionRefused, "whether the ports in the entry's URL, arguments and variables accept connections",
		"addresses that are not in the entry"},
	{Timeout, "whether the process is running, paused, using the CPU or downloading, or has read the request", ""},
	{AuthFailed, "the HTTP status, the WWW-Authenticate header, and whether the server redirects to a login page", "services that the server calls"},
	{MissingEnvVar, "which variables are set or empty, the server's .env file, and what its server.json requires",
		"the names of other variables"},
	{TransportMismatch, "the ports that the process is listening on, what responds there, and whether it moved to the background", ""},
	{PermissionDenied, "the system's error, exit status 126, and the program's mode and file system", "other files"},
	{PackageNotFound, "the package's own manifest in the project or a cache", "what a registry sent to the runner"},
	{RuntimeTooOld, "the interpreter's version, what the package requires, and the header of a binary", "libraries and syntax"},
	{DependencyMissing, "whether node_modules and the virtual environment's Python exist", "which module is missing"},
	{ConfigMalformed, "the entry itself, the type of the file in its command, and JSON files in its arguments",
		"options that the server rejects"},
	{StdoutPollution, "stdout, for any output that is not an MCP message", ""},
	{ProtocolMismatch, "the IDs, versions, fields and errors in the server's messages", ""},
	{SessionLost, "whether the server returns 404 after it opened a session", "servers that report a lost session in another way"},
	{Crashed, "the exit status and the signal", "the kind of bug"},
	{PortInUse, "whether another process is listening on the port", "ports that are not in the entry"},
	{TLSOrProxy, "whether a TLS handshake with the server's host succeeds, and whether the proxy accepts connections", "services that the server calls"},
	{DNSOrNetwork, "whether the host name resolves, whether the host accepts connections, and its HTTP status", "services that the server calls"},
	{RateLimited, "the HTTP status", "services that the server calls"},
	{InvalidToolSchema, "the list of tools", "what a model provider rejects"},
	{ToolArgumentsInvalid, "the tool's schema and the arguments", "rules that the schema does not contain"},
	{ResourceExhausted, "the signal, the process's limits, and the free space on its disks", "a runtime's own limits"},
	{PathNotFound, "whether the paths in the entry exist", "paths that are not in the entry"},
}

// probe returns how to decide about a tentative diagnosis of a log: what gauze would see, and the command.
func (d Diagnosis) probe(x *exam) string {
	for _, e := range ownEvidence {
		if e.category != d.Category {
			continue
		}
		if x.URL != "" {
			return "To be certain, let gauze connect to the server. It checks " + e.sees + ": `gauze test --url " +
				cmp.Or(x.advised("url", &match{}), "URL") + "`"
		}
		return "To be certain, let gauze start the server. It checks " + e.sees + ": `gauze test -- " + cmp.Or(x.typed(), "COMMAND") + "`"
	}
	return ""
}
