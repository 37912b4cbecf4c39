package doctor

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

func sessionCauses() []cause {
	return []cause{
		{
			name: "no_session_affinity", category: SessionLost,
			explain: "Requests of one session reach different instances of the server, and only one of them knows it.",
			fix:     "Make the load balancer keep a session on one instance (by Mcp-Session-Id), share sessions between them, or run the server stateless.",
			clues: []clue{
				{certain, `(?i)(?:session affinity|sticky session|different (?:pod|instance|worker|replica))`, nil},
				{strong, `(?i)session[^\n]{0,20}(?:not found|invalid|unknown)|no valid session id`, func(x *exam, _ *match) bool {
					return severalInstances.MatchString(x.text + " " + x.line)
				}},
			},
			hides: []string{"session_expired_no_reinit"},
		},
		{
			name: "session_not_initialized", category: SessionLost,
			explain: "The request belongs to no session the server knows: it was never begun with initialize, or its id was not sent along.",
			fix:     "Connect again, so that initialize comes first and its Mcp-Session-Id goes with every request: gauze run --url {url|URL} does that.",
			instead: []advice{{when: live, explain: "The server wants a session before it gives one: it refuses even the first request, which begins it.",
				fix: "Check the address: this one may be for something else than MCP (the server's documentation names it). If it is right, tell who runs the server."}},
			clues: []clue{
				{strong, `(?i)(?:missing|no|required?|without)[^\n]{0,20}(?:mcp-)?session[- _]?id`, func(x *exam, m *match) bool { return !strings.Contains(strings.ToLower(m.said), "no valid session") }},
				{strong, `(?i)(?:mcp-)?session[-_ ]?id[^\n]{0,10} (?:header )?(?:is )?(?:required|missing)`, nil},
				{strong, `(?i)session (?:is |was )?not (?:yet )?initiali[sz]ed`, nil},
			},
		},
		{
			name: "session_expired_no_reinit", category: SessionLost,
			explain: "The server has forgotten the session (it was restarted, or the session was idle too long), and the client goes on using it.",
			fix:     "Connect again; gauze run --url {url|URL} does that by itself.",
			instead: []advice{{when: live, explain: "The server has forgotten the session (it was restarted, or several copies of it share the address).",
				fix: "Try again in a moment; if it stays so, tell who runs the server that sessions get lost."}},
			clues: []clue{
				{certain, `(?i)session ?(?:id )?(?:['"]?[\w-]+['"]? )?(?:was |is |has |has been )?(?:not found|could not be found|expired|terminated|been closed|closed by server|does not exist|no longer valid|invalid|unknown)\b`, notBrowserSession},
				{certain, `(?i)(?:invalid|unknown|expired|no valid|could not find|no active|no such|non-?existent) (?:mcp )?(?:or expired )?session(?: ?id)?\b`, notBrowserSession},
				{certain, `(?i)session with (?:the )?id ['"]?[\w-]+['"]? (?:was |is |could )?(?:not (?:be )?found|does not exist|expired)`, nil},
				{certain, `(?i)No transport found for session(?:Id)?|Could not find session`, nil},
				{strong, `(?i)SseClientTransport[^\n]{0,20}Error sending message: 40[04]\b`, nil}, // it was connected, or there would be no place to send to
				{strong, `(?i)Server not initialized`, func(x *exam, m *match) bool {
					return x.remote() || x.status(m, 400, 404) || strings.Contains(x.text, "-32000")
				}},
			},
			hides: []string{"http_unauthorized", "http_not_found", "wrong_endpoint_path", "sse_vs_streamable", "invalid_jsonrpc_message", "client_skips_initialize"},
		},
		{
			name: "idle_stream_timeout", category: SessionLost,
			explain: "The stream between client and server was cut after a time of silence, by the server or by something in between.",
			fix:     "Raise the idle limit of the server or proxy (proxy_read_timeout, spring.mvc.async.request-timeout), or let the server send signs of life.",
			clues: []clue{
				{certain, `AsyncRequestTimeoutException`, nil},
				{certain, `(?i)(?:SSE|stream|event ?source)[^\n]{0,40}(?:disconnected|terminated|closed|idle|timed out|timeout|reset)[^\n]{0,40}`, func(x *exam, m *match) bool {
					return !x.status(&match{}, 404, 405) && !strings.Contains(m.said, "405") && cutStream.MatchString(m.said)
				}},
				{certain, `(?i)BodyTimeoutError|UND_ERR_BODY_TIMEOUT|stream timeout|RemoteProtocolError|incomplete chunked read|ERR_HTTP2_\w+|ERR_INCOMPLETE_CHUNKED_ENCODING|peer closed connection without sending complete message`, nil},
				{certain, `TypeError: terminated`, nil},
				{certain, `(?i)upstream (?:prematurely closed|timed out)`, func(x *exam, _ *match) bool { return !x.status(&match{}, 502, 503, 504) }},
			},
		},
	}
}

// redirected reads where a redirect leads: to another host, or elsewhere on the
// same one.
func (x *exam) redirected(m *match) bool {
	from, err := url.Parse(x.URL)
	if err != nil || x.URL == "" {
		return false
	}
	for _, answer := range x.HTTP {
		to, err := from.Parse(answer.Location)
		if err != nil || answer.Status/100 != 3 || answer.Location == "" {
			continue
		}
		m.said = "HTTP " + strconv.Itoa(answer.Status) + ", Location: " + answer.Location
		if from.Host == to.Host {
			m.names["target"] = " to " + to.EscapedPath()
		} else {
			m.names["other"] = to.Scheme + "://" + to.Host
		}
		return true
	}
	return false
}

// slashMoved tells whether a redirect only adds or drops the slash at the end.
func (x *exam) slashMoved(m *match) bool {
	at, err := url.Parse(x.URL)
	return err == nil && m.names["target"] != "" && m.names["target"] == " to "+turned(at).EscapedPath()
}

// turned is an address with the slash at its end the other way round.
func turned(u *url.URL) *url.URL {
	other := *u
	if other.RawPath = ""; strings.HasSuffix(u.Path, "/") {
		other.Path = strings.TrimSuffix(u.Path, "/")
	} else {
		other.Path += "/"
	}
	return &other
}

func notBrowserSession(_ *exam, m *match) bool {
	lower := strings.ToLower(m.said)
	return !strings.Contains(lower, "browser session") && !strings.Contains(lower, "sso session") && !strings.Contains(lower, "session token")
}

var sseClient = &wording{source: `(?i)\bSSE\b|/sse\b|text/event-stream`}

var html = &wording{source: `(?i)text/html|<!doctype html|<html`}

func endpointCauses() []cause {
	return []cause{
		{
			name: "trailing_slash_redirect", category: TransportMismatch,
			explain: "The server answers with a redirect{target| (usually from /mcp to /mcp/)}, and the client does not follow it with the request and its headers.",
			fix:     "Write the address as the redirect names it: nearly always with a slash at the end where there is none, or without the one that is there.",
			instead: []advice{
				{when: func(x *exam, m *match) bool { return m.names["other"] != "" }, explain: "The server sends visitors to another host, {other|see below}. Gauze does not follow, because your headers would go there.",
					fix: "See in the server's documentation whether that host is right; if it is, write the new address into the entry yourself."},
				{when: func(x *exam, m *match) bool { return x.slashMoved(m) }, explain: "The server answers with a redirect: it wants the address with the slash at the end the other way round.",
					fix: "Use this address: {turned|the one with the slash}"},
			},
			clues: []clue{
				{certain, "", func(x *exam, m *match) bool { return x.redirected(m) }},
				{certain, "", func(x *exam, m *match) bool { return x.status(m, 307, 308) }},
				{strong, "", func(x *exam, m *match) bool {
					return x.status(m, 301, 302) && !strings.Contains(strings.ToLower(x.text), "login")
				}},
				{strong, `(?i)(?:Temporary|Permanent) Redirect|redirect(?:ed|s)? (?:to|from)[^\n]{0,80}/mcp/?`, nil},
				{strong, `(?i)unexpected redirect|redirects? (?:is|are|was|were) not (?:followed|allowed|supported)|too many redirects|ERR_TOO_MANY_REDIRECTS`, nil},
			},
			hides: []string{"http_unauthorized", "http_not_found", "sse_vs_streamable", "wrong_endpoint_path", "companion_app_not_running"},
		},
		{
			name: "wrong_service_on_port", category: PortInUse,
			explain: "Something else answers on {url|that port}: it speaks HTTP, but it is no MCP server.",
			fix:     "See which program listens there ({$listener}), and give the server a port of its own.",
			instead: []advice{{when: func(x *exam, _ *match) bool { return x.URL != "" && !local.MatchString(x.URL) }, fix: "Check host and port of the address: what answers there is something else."}},
			clues: []clue{
				{likely, `(?i)content[- ]type[^\n]{0,60}text/html`, func(x *exam, _ *match) bool {
					rest := strings.TrimPrefix(strings.TrimPrefix(x.address(), "https://"), "http://")
					return local.MatchString(rest) && !strings.Contains(strings.TrimSuffix(rest, "/"), "/")
				}},
				{strong, "", func(x *exam, m *match) bool { return x.status(m, 426) }},
				{certain, `malformed HTTP (?:response|status code|version) "`, nil},
				{strong, `(?i)(?:another|different|other|unrelated) (?:service|application|app|process|server) (?:is )?(?:already )?(?:listening|running|answering|responding|bound)[^\n]{0,20} port`, nil},
			},
			hides: []string{"wrong_endpoint_path", "port_taken_by_sibling"},
		},
		{
			name: "sse_subpath_prefix_lost", category: TransportMismatch,
			explain: "The server sits under a path, but the address it names for messages leaves that path out, so posts go nowhere.",
			fix:     "Set the server's base path (root_path, messageEndpoint, mount path) to what the proxy adds, or use streamable HTTP, which has one address only.",
			clues: []clue{
				{strong, `(?s)(?:POST|POSTing)[^\n]{0,80}404.{0,400}SSEClientTransport`, nil},
				{strong, `(?s)SSEClientTransport.{0,400}(?:HTTP 404|404 )`, nil},
				{strong, `(?i)POST "?/messages?/?[^\n]*? 404`, nil},
				{strong, `(?i)Endpoint origin does not match connection origin`, nil},
				{strong, `(?s)event: endpoint.{0,200}data: /messages?.*?404`, nil},
			},
			hides: []string{"wrong_endpoint_path", "http_not_found", "sse_vs_streamable"},
		},
		{
			name: "sse_vs_streamable", category: TransportMismatch,
			explain: "Client and server use different HTTP transports: one speaks SSE (GET /sse), the other streamable HTTP (POST /mcp).",
			fix:     "Set the entry's type to what the server offers (\"sse\" or \"http\"), or let gauze find it out: gauze run --url {url|URL}",
			instead: []advice{{when: live, explain: "The server takes neither of the two HTTP transports at this address: its path is likely another one.",
				fix: "Use the path that the server's documentation names for MCP clients (it often ends in /mcp or /sse)."}},
			clues: []clue{
				{strong, "", func(x *exam, m *match) bool { return x.status(m, 405) }},
				{strong, `(?i)method not allowed`, nil},
				{certain, `(?i)(?:only (?:the )?(?:POST|GET) (?:method )?(?:is |requests? (?:are )?)?(?:supported|allowed))|Cannot (?:POST|GET) /(?:sse|mcp|messages?)\b`, nil},
				{certain, `(?i)Missing sessionId(?: parameter)?|sessionId (?:query )?(?:parameter )?is required`, nil},
				{certain, `(?i)(?:missing|no|required?|without)[^\n]{0,20}session[- _]?id|session[-_ ]?id[^\n]{0,10} (?:header )?(?:is )?(?:required|missing)`, func(x *exam, _ *match) bool {
					return sseClient.MatchString(x.text) || sseClient.MatchString(x.line)
				}},
				{strong, `(?i)(?:SSE|streamable[- ]?HTTP)[^\n]{0,40} transport[^\n]{0,40}(?:not supported|unsupported|deprecated|is not available)|does not support (?:SSE|streamable)`, nil},
				{strong, `(?i)SSE error: Non-200 status code \((?:404|405|400)\)`, nil},
			},
			hides: []string{"optional_method_probed", "wrong_endpoint_path", "session_not_initialized"},
		},
		{
			name: "wrong_endpoint_path", category: TransportMismatch,
			explain: "There is no MCP server at {url|this address}: the path is wrong (often /mcp or /sse is missing), or a web page answers.",
			fix:     "Use the path from the server's documentation, or let gauze look for it: gauze test --heal --url {url|URL}",
			instead: []advice{{when: live, fix: "Use the path that the server's documentation names for MCP clients (it often ends in /mcp or /sse)."}},
			clues: []clue{
				{strong, `(?i)(?:expected|invalid|unexpected|wrong|unsupported)[^\n]{0,60}content[- ]type[^\n]{0,80}`, nil},
				{strong, `(?i)\bexpect(?:ed|s|ing)?:? ['"]?(?:text/event-stream|application/json)['"]?,? (?:but )?(?:got|received|was|found)\b`, nil},
				{likely, `^\s*\{"(?:detail|message|error)": ?"(?i:not found)"`, func(x *exam, _ *match) bool { return x.remote() }},
				{strong, `(?i)content[- ]type[^\n]{0,40}(?:text/html|expected "?text/event-stream|to contain 'text/event-stream')`, nil},
				{likely, "", func(x *exam, m *match) bool {
					return x.status(m, 404) && (x.remote() || aboutEndpoint.MatchString(m.said))
				}},
				{likely, `(?i)(?:"|>|: |^)404 page not found|Cannot (?:POST|GET) /\S*`, nil},
				{strong, `(?i)(?:endpoint|response|body|received|got|error)[^\n]{0,40}<(?:!doctype html|html)`, func(x *exam, _ *match) bool {
					return !slices.ContainsFunc(x.HTTP, func(answer HTTP) bool { return answer.Status >= 500 })
				}},
				{strong, `(?i)Unexpected token '?<'?[^\n]{0,40}(?:<!doctype|<html|is not valid JSON|in JSON)`, nil},
				{strong, "", func(x *exam, m *match) bool {
					for _, answer := range x.HTTP {
						if answer.Status/100 == 2 && html.MatchString(answer.ContentType+" "+answer.Body) {
							m.said = "HTTP 200, content type " + answer.ContentType
							return true
						}
					}
					return false
				}},
			},
			hides: []string{"stdout_log_pollution"},
		},
		{
			name: "http_server_run_as_stdio", category: TransportMismatch,
			explain: "The server listens on {port|a port} for HTTP, but the client started it to talk over stdin and stdout: nobody answers there.",
			fix:     "Start it in stdio mode (--transport stdio, MCP_TRANSPORT=stdio), or keep it running and give the client its URL.",
			clues: []clue{
				{strong, `Uvicorn running on (?:socket )?(?P<port>\S+)`, stdioClient},
				{likely, `INFO: +Started server process \[\d+\]`, stdioClient},
				{strong, `(?i)(?:listening|running|start(?:ed|ing)|serving|available)[^\n]{0,40} (?:on|at) (?:port )?(?P<port>https?://\S+|:?\d{4,5}\b|(?:localhost|0\.0\.0\.0|127\.0\.0\.1):\d+)`, stdioClient},
				{certain, "", func(x *exam, m *match) bool {
					if !x.Limit.Passed || x.Limit.Listening == 0 {
						return false
					}
					m.said = "it listens on a port and wrote nothing to stdout"
					return true
				}},
			},
			hides: []string{"npx_cold_start_timeout", "slow_tool_call", "stdout_log_pollution"},
		},
		{
			name: "stdin_not_connected", category: TransportMismatch,
			explain: "The server got no stdin: it saw the end of its input at once and went away with exit code 0.",
			fix:     "Start the container with -i (docker run -i --rm ...; in compose stdin_open: true), and let a client start it, not a terminal.",
			instead: []advice{
				{when: saying("TTY"), explain: "Docker was asked for a terminal (-t), and a client has none to give.", fix: "Take -t out of the arguments: -i alone, not -it."},
				{when: func(x *exam, _ *match) bool { return !x.container() }, fix: "Let a client start the server and keep its stdin open; started in a terminal or in the background it gets none."}},
			clues: []clue{
				{certain, `(?i)\b(?:running|connected|listening|start(?:ed|ing)|ready|serving)\b[^\n]{0,60}\b(?:on|via|over|in|using|through|with)\s+(?:[\w.]+:\d+\s+)?(?:transport )?['"]?stdio\b`, func(x *exam, m *match) bool {
					return (x.container() || strings.Contains(x.line, "compose")) && !x.interactive()
				}},
				{strong, `(?i)the input device is not a TTY|cannot attach stdin to a TTY-enabled container`, nil},
				{strong, "", func(x *exam, m *match) bool {
					return x.container() && !x.interactive() && x.has("run") && x.exited(m, 0)
				}},
				{guess, `(?i)connection closed|timed out|exited before|disconnected|server exited|no response`, func(x *exam, _ *match) bool {
					return x.container() && x.has("run") && !x.has("gateway") && !x.interactive() && !x.has("-d", "-p", "...", "--publish") && !strings.Contains(x.line, "...")
				}},
				{strong, `(?i)(?:stdin|input stream)[^\n]{0,20} (?:is |was )?(?:closed?|ended|end\b|not (?:available|connected|open)|EOF)|EOF (?:on|when reading) (?:stdin|a line)|received EOF`, nil},
				{strong, `(?i)running on stdio[^\n]*\s+[^\n]*exited with code 0`, nil},
			},
		},
		{
			name: "http_not_found", category: TransportMismatch,
			explain: "The server answered 404: there is nothing at this address.",
			fix:     "Check the path of the URL; gauze test --heal --url {url|URL} looks for the right one.",
			instead: []advice{{when: live, fix: "Use the path that the server's documentation names for MCP clients (it often ends in /mcp or /sse)."}},
			clues: []clue{
				{guess, "", func(x *exam, m *match) bool { return x.status(m, 404) }},
			},
		},
	}
}

// stdioClient tells whether the server was started by a client that speaks to
// it over pipes.
func stdioClient(x *exam, m *match) bool {
	return len(x.Command) > 0 && !x.remote() && !x.container() && !strings.Contains(strings.ToLower(m.said), "stdio") &&
		!strings.Contains(x.line, "http") && !brokeOff.MatchString(x.text)
}

var aboutEndpoint = &wording{source: `(?i)/mcp|/sse|POSTing to endpoint|streamable|SSE|endpoint|MCP server`}

// What conditions of clues ask for.
var (
	brokeOff         = &wording{source: `UnhandledPromiseRejection|Traceback \(most recent|panic: |Unhandled exception\.|Uncaught [A-Z]\w*Error`}
	severalInstances = &wording{source: `(?i)\b(?:pods?|replicas?|k8s|kubernetes|load ?balancer|workers?|lambda|cloud run)\b`}
	cutStream        = &wording{source: `(?i)terminated|Body Timeout|idle|after \d+|stream (?:disconnected|reset)`}
)
