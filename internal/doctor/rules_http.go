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
			name: "no_session_affinity", category: SessionLost, passes: true,
			explain: "Requests from one session reach different instances of the server, but only one instance has the session.",
			fix:     "Configure the load balancer to route by Mcp-Session-Id, share sessions between the instances, or run the server in stateless mode.",
			clues: []clue{
				{certain, `(?i)(?:session affinity|sticky session|different (?:pod|instance|worker|replica))`, nil},
				{strong, `(?i)session[^\n]{0,20}(?:not found|invalid|unknown)|no valid session id`, func(x *exam, _ *match) bool {
					return severalInstances.MatchString(x.text + " " + x.line)
				}},
			},
			hides: []string{"session_expired_no_reinit"},
		},
		{
			name: "session_not_initialized", category: SessionLost, passes: true,
			explain: "The request does not belong to an open session: either initialize was not sent first, or the session ID was not included.",
			fix:     "Reconnect with a client that sends initialize first and includes Mcp-Session-Id in every request: `gauze run --url {url|URL}`",
			instead: []advice{{when: live, explain: "The server requires a session ID even for initialize, the request that creates the session.",
				fix: "Check the server's documentation: is this the address for MCP clients? If it is, report the problem to the server's operator."}},
			clues: []clue{
				{strong, `(?i)(?:missing|no|required?|without)[^\n]{0,20}(?:mcp-)?session[- _]?id`, func(x *exam, m *match) bool { return !strings.Contains(strings.ToLower(m.said), "no valid session") }},
				{strong, `(?i)(?:mcp-)?session[-_ ]?id[^\n]{0,10} (?:header )?(?:is )?(?:required|missing)`, nil},
				{strong, `(?i)session (?:is |was )?not (?:yet )?initiali[sz]ed`, nil},
			},
		},
		{
			name: "session_expired_no_reinit", category: SessionLost, passes: true,
			explain: "The server no longer has this session (the server restarted, or the session expired), but the client keeps using the session.",
			fix:     "Reconnect with a client that starts a new session when the old one is lost: `gauze run --url {url|URL}`",
			instead: []advice{{when: live, explain: "The server no longer has this session (the server restarted, or several instances share the address).",
				fix: "Try again in a moment. If the session is lost again, report this to the server's operator."}},
			clues: []clue{
				{certain, `(?i)session ?(?:id )?(?:['"]?[\w-]+['"]? )?(?:was |is |has |has been )?(?:not found|could not be found|expired|terminated|been closed|closed by server|does not exist|no longer valid|invalid|unknown)\b`, notBrowserSession},
				{certain, `(?i)(?:invalid|unknown|expired|no valid|could not find|no active|no such|non-?existent) (?:mcp )?(?:or expired )?session(?: ?id)?\b`, notBrowserSession},
				{certain, `(?i)session with (?:the )?id ['"]?[\w-]+['"]? (?:was |is |could )?(?:not (?:be )?found|does not exist|expired)`, nil},
				{certain, `(?i)No transport found for session(?:Id)?|Could not find session`, nil},
				{strong, `(?i)SseClientTransport[^\n]{0,20}Error sending message: 40[04]\b`, nil}, // it was connected, or it would not know where to send
				{strong, `(?i)Server not initialized`, func(x *exam, m *match) bool {
					return x.remote() || x.status(m, 400, 404) || strings.Contains(x.text, "-32000")
				}},
			},
			hides: []string{"http_unauthorized", "http_not_found", "wrong_endpoint_path", "sse_vs_streamable", "invalid_jsonrpc_message", "client_skips_initialize", "remote_outage"},
		},
		{
			name: "idle_stream_timeout", category: SessionLost, passes: true,
			explain: "The server, or a proxy between it and the client, closed the stream after a period of inactivity.",
			fix:     "Raise the idle timeout of the server or proxy (proxy_read_timeout, spring.mvc.async.request-timeout), or enable keep-alive messages in the server.",
			clues: []clue{
				{certain, `AsyncRequestTimeoutException`, nil},
				{certain, `(?i)\b(?:SSE|stream|event ?source)[^\n]{0,40}(?:disconnected|terminated|closed|idle|timed out|timeout|reset)[^\n]{0,40}`, func(x *exam, m *match) bool {
					return !x.status(&match{}, 404, 405) && !strings.Contains(m.said, "405") && cutStream.MatchString(m.said) && !strings.Contains(m.said, "content type")
				}},
				{certain, `(?i)BodyTimeoutError|UND_ERR_BODY_TIMEOUT|stream timeout|RemoteProtocolError|incomplete chunked read|ERR_HTTP2_\w+|ERR_INCOMPLETE_CHUNKED_ENCODING|peer closed connection without sending complete message`, nil},
				{certain, `TypeError: terminated`, nil},
				{certain, `(?i)upstream (?:prematurely closed|timed out)`, func(x *exam, _ *match) bool { return !x.status(&match{}, 502, 503, 504) }},
			},
		},
	}
}

// redirected reads where a redirect leads: to a different host, or to a different path of the same
// one.
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

// slashMoved reports whether a redirect only adds or removes the slash at the end.
func (x *exam) slashMoved(m *match) bool {
	at, err := url.Parse(x.URL)
	return err == nil && m.names["target"] != "" && m.names["target"] == " to "+turned(at).EscapedPath()
}

// turned returns an address with the slash at its end added or removed.
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
	return !strings.Contains(lower, "browser session") && !strings.Contains(lower, "sso session") && !strings.Contains(lower, "session token") && !strings.Contains(lower, "session key")
}

var sseClient = &wording{source: `(?i)\bSSE\b|/sse\b|text/event-stream`}

var html = &wording{source: `(?i)text/html|<!doctype html|<html`}

func endpointCauses() []cause {
	return []cause{
		{
			name: "trailing_slash_redirect", category: TransportMismatch,
			explain: "The server responds with a redirect{target| (usually from /mcp to /mcp/)}, and the client does not resend the request and its headers to the new address.",
			fix:     "Use the address that the redirect points to. Usually only the trailing slash differs.",
			instead: []advice{
				{when: func(x *exam, m *match) bool { return m.names["other"] != "" }, explain: "The server redirects to a different host, {other|named in its response}. Gauze does not follow the redirect, because your headers would be sent to that host.",
					fix: "Check the server's documentation: is the new host correct? If it is, write the new address into the entry yourself."},
				{when: func(x *exam, m *match) bool { return x.slashMoved(m) }, explain: "The server redirects to the same address with a slash added or removed at the end.",
					fix: "Use this address: `{turned|URL/}`"},
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
			explain: "A different program answers at {url|this address}: it speaks HTTP but is not an MCP server.",
			fix:     "Configure a free port for the MCP server. To see which program uses the current port: `{$listener}`",
			instead: []advice{{when: func(x *exam, _ *match) bool { return x.URL != "" && !local.MatchString(x.URL) }, fix: "Check the host and port in the address: a different service answers there."}},
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
			explain: "The server is mounted under a path prefix, but the message endpoint it announces lacks the prefix, so requests sent to that endpoint fail.",
			fix:     "Set the server's base path (root_path, messageEndpoint, mount path) to the prefix that the proxy adds, or use streamable HTTP, which has a single endpoint.",
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
			explain: "The client and the server use different HTTP transports: one uses SSE (GET /sse), the other uses streamable HTTP (POST /mcp).",
			fix:     "Set the entry's type to the transport that the server supports (\"sse\" or \"http\"), or let gauze detect it: `gauze run --url {url|URL}`",
			instead: []advice{{when: live, explain: "The server supports neither HTTP transport at this address. The path is probably wrong.",
				fix: "Use the path that the server's documentation gives for MCP clients (it often ends in /mcp or /sse)."}},
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
			hides: []string{"optional_method_probed", "wrong_endpoint_path", "session_not_initialized", "content_type_refused"},
		},
		{
			name: "wrong_endpoint_path", category: TransportMismatch,
			explain: "{url|This address} is not an MCP endpoint. The path is wrong (often /mcp or /sse is missing), or the address is a web page.",
			fix:     "Use the path from the server's documentation, or let gauze find it: `gauze test --heal --url {url|URL}`",
			instead: []advice{{when: live, fix: "Use the path that the server's documentation gives for MCP clients (it often ends in /mcp or /sse)."}},
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
			explain: "The server listens for HTTP on {theport|a port}, but the client started it as a stdio server and waits for messages on stdout.",
			fix:     "Start the server in stdio mode (`--transport stdio` or MCP_TRANSPORT=stdio), or run it separately and connect to its URL: `gauze run --url http://127.0.0.1:{port|PORT}/mcp`",
			instead: []advice{{when: live, fix: "Start the server in stdio mode (`--transport stdio` or MCP_TRANSPORT=stdio), or run it separately and configure its URL in the client."}},
			clues: []clue{
				{strong, `Uvicorn running on (?:socket )?(?P<port>\S+)`, stdioClient},
				{likely, `INFO: +Started server process \[\d+\]`, stdioClient},
				{strong, `(?i)(?:listening|running|start(?:ed|ing)|serving|available)[^\n]{0,40} (?:on:?|at:?|addr=) ?(?:port )?(?P<port>https?://\S+|:?\d{4,5}\b|(?:localhost|0\.0\.0\.0|127\.0\.0\.1):\d+)`, stdioClient},
				{certain, "", func(x *exam, m *match) bool {
					if !x.Limit.Passed || x.Limit.Listening == 0 {
						return false
					}
					m.names["port"] = strconv.Itoa(x.Limit.Listening)
					m.said = "the server is listening on a port and has written nothing to stdout"
					return true
				}},
			},
			hides: []string{"npx_cold_start_timeout", "slow_tool_call", "stdout_log_pollution"},
		},
		{
			name: "stdin_not_connected", category: TransportMismatch,
			explain: "The server had no stdin: it read end-of-file immediately and exited with code 0.",
			fix:     "Keep the container's stdin open: start it with `docker run -i --rm IMAGE`, or set stdin_open: true in compose. Start it from a client, not from a terminal.",
			instead: []advice{
				{when: lineContains("TTY"), explain: "Docker was started with a terminal (-t), but an MCP client does not have one.", fix: "Remove -t from the arguments: use -i, not -it."},
				{when: func(x *exam, _ *match) bool { return !x.container() }, fix: "Start the server from an MCP client, which keeps stdin open. A server started in the background has no stdin."}},
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
			explain: "The server returned 404: this address does not exist.",
			fix:     "Check the path in the URL, or let gauze find it: `gauze test --heal --url {url|URL}`",
			instead: []advice{{when: live, fix: "Use the path that the server's documentation gives for MCP clients (it often ends in /mcp or /sse)."}},
			clues: []clue{
				{guess, "", func(x *exam, m *match) bool { return x.status(m, 404) && (x.remote() || !apiPath.MatchString(x.text)) }},
			},
		},
	}
}

// stdioClient reports whether a client started the server and talks to it over pipes.
func stdioClient(x *exam, m *match) bool {
	return len(x.Command) > 0 && !x.remote() && !x.container() && !strings.Contains(strings.ToLower(m.said), "stdio") &&
		!strings.Contains(x.line, "http") && !brokeOff.MatchString(x.text)
}

var aboutEndpoint = &wording{source: `(?i)/mcp|/sse|POSTing to endpoint|streamable|SSE|endpoint|MCP server`}

// Patterns for the conditions of clues.
var (
	brokeOff         = &wording{source: `UnhandledPromiseRejection|Traceback \(most recent|panic: |Unhandled exception\.|Uncaught [A-Z]\w*Error`}
	severalInstances = &wording{source: `(?i)\b(?:pods?|replicas?|k8s|kubernetes|load ?balancer|workers?|lambda|cloud run)\b`}
	apiPath          = &wording{source: `https?://[^\s/]+(?:/[\w-]+)?/(?:api|rest|v\d+)/`} // of a service that the server calls
	cutStream        = &wording{source: `(?i)terminated|Body Timeout|idle|after \d+|stream (?:disconnected|reset)`}
)
