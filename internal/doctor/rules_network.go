package doctor

import (
	"slices"
	"strings"
)

func tlsCauses() []cause {
	return []cause{
		{
			name: "private_ca_not_trusted", category: TLSOrProxy,
			explain: "The server's certificate is signed by an authority that this program does not trust: a private one, or that of a company proxy that inspects TLS traffic.",
			fix:     "Give the program the authority's certificate (set NODE_EXTRA_CA_CERTS={$path ca.pem} for Node, SSL_CERT_FILE for most others). Do not disable certificate checks.",
			instead: []advice{
				{when: func(x *exam, _ *match) bool { return x.runs("npx", "node", "npm", "pnpm", "yarn", "tsx") }, fix: "Do not disable certificate checks. To make Node trust the authority, add this under \"env\" in the server's entry: `\"NODE_EXTRA_CA_CERTS\": \"{$json ca.pem}\"`"},
				{when: func(x *exam, _ *match) bool { return x.runs("uvx", "uv", "python", "python3", "pipx") }, fix: "Do not disable certificate checks. To make Python and uv trust the authority, add this under \"env\" in the server's entry: `\"SSL_CERT_FILE\": \"{$json ca.pem}\"`"},
				{when: func(x *exam, m *match) bool { return liveURL(x, m) && onWindows(x, m) }, fix: "Do not disable certificate checks. If the user trusts the authority, they must add its certificate to their certificate store.", command: "{$trust}"},
				{when: liveURL, fix: "Add the authority's certificate to the system's certificate store, or on Linux start gauze with SSL_CERT_FILE set to the certificate's path. Do not disable certificate checks."},
			},
			clues: []clue{
				{certain, `\b(?:UNABLE_TO_GET_ISSUER_CERT(?:_LOCALLY)?|SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_VERIFY_LEAF_SIGNATURE|CERT_UNTRUSTED)\b`, nil},
				{certain, `(?i)unable to get local issuer certificate|self[- ]signed certificate|unable to verify the first certificate`, nil},
				{certain, `CERTIFICATE_VERIFY_FAILED|certificate verify failed`, nil},
				{certain, `x509: certificate signed by unknown authority|x509: “[^”\n]+” certificate is not trusted`, nil},
				{certain, `invalid peer certificate: (?:UnknownIssuer|BadSignature|CaUsedAsEndEntity|Other)`, nil},
				{certain, `\bUnknownIssuer\b|\bunknown ca\b|SSLCertVerificationError|(?i)certificate (?:is |was )?(?:not trusted|untrusted|verification failed)|(?i)untrusted (?:root )?certificate|unable to get issuer certificate|Could not establish trust relationship`, nil},
				{guess, `(?i)\bfetch failed\b`, func(x *exam, _ *match) bool { // localhost cannot have a public certificate
					return local.MatchString(x.address()) && strings.HasPrefix(x.address(), "https:")
				}},
				{certain, `PKIX path building failed|unable to find valid certification path`, nil},
				{certain, `(?i)The remote certificate (?:is|was) (?:invalid|rejected)|NotTrusted|PartialChain|UntrustedRoot|SEC_ERROR_UNKNOWN_ISSUER|ERR_CERT_AUTHORITY_INVALID`, nil},
				{certain, `(?i)The certificate chain was issued by an authority that is not trusted|schannel: [^\n]+(?:untrusted|revocation)|SSL certificate problem`, nil},
			},
			hides: []string{"registry_unreachable", "request_not_sent", "git_fetch_failed"},
		},
		{
			name: "certificate_not_valid", category: TLSOrProxy,
			explain: "The server's certificate is not valid for {host|this address}: it has expired, is not valid yet, or is issued for a different host name.",
			fix:     "Renew the certificate on the server, connect using the host name that the certificate is issued for, or correct this machine's clock.",
			clues: []clue{
				{certain, `\b(?:CERT_HAS_EXPIRED|ERR_TLS_CERT_ALTNAME_INVALID|CERT_NOT_YET_VALID|ERR_CERT_DATE_INVALID|ERR_CERT_COMMON_NAME_INVALID)\b`, nil},
				{certain, `(?i)certificate has expired|certificate is not valid (?:for|yet)|Hostname/IP does not match certificate's altnames|x509: certificate (?:has expired|is valid for|is not valid)|hostname mismatch, certificate is not valid|invalid peer certificate: (?:Expired|NotValidForName|certificate not valid for name)`, nil},
			},
			hides: []string{"request_not_sent", "private_ca_not_trusted"},
		},
		{
			name: "tls_handshake_failed", category: TLSOrProxy, passes: true,
			explain: "The TLS connection could not be established: one side does not use TLS on this port, or the two have no common TLS version.",
			fix:     "Check the scheme (http:// or https://) and the port in the URL (a local server usually uses plain http). If both are correct, check whether a proxy or firewall blocks the connection.",
			clues: []clue{
				{certain, `\b(?:ERR_SSL_WRONG_VERSION_NUMBER|ERR_SSL_PACKET_LENGTH_TOO_LONG|ERR_SSL_TLSV1_ALERT_\w+|ERR_SSL_SSLV3_ALERT_\w+|ERR_SSL_UNSUPPORTED_PROTOCOL|ERR_SSL_PROTOCOL_ERROR|EPROTO)\b`, nil},
				{certain, `(?i)wrong version number|first record does not look like a TLS handshake|server gave HTTP response to HTTPS client|client sent an HTTP request to an HTTPS server|plain HTTP request was sent to HTTPS port`, nil},
				{strong, `(?i)disconnected before secure TLS connection was established|(?:closed|reset|EOF|terminated)[^\n]{0,30}(?:during|in|before)[^\n]{0,12}(?:TLS|SSL) handshake|(?:TLS|SSL) handshake[^\n]{0,12}: EOF`, nil},
				{strong, `(?i)\b(?:SSL|TLS)\b[^\n]{0,40}(?:could not be established|handshake (?:error|failed|failure)|connection (?:error|failed)|bad certificate)`, nil},
				{certain, `(?i)ssl(?:v3)? alert handshake failure|tls: (?:handshake failure|protocol version not supported)|SSLEOFError|UNEXPECTED_EOF_WHILE_READING|InvalidContentType|received corrupt message of type|SSL routines`, nil},
			},
			hides: []string{"request_not_sent"},
		},
		{
			name: "proxy_env_breaks", category: TLSOrProxy,
			explain: "The proxy set by HTTP_PROXY, HTTPS_PROXY or ALL_PROXY blocks the connection to {host|the server}.",
			fix:     "Correct the proxy variables in the server's environment, or add the target host to NO_PROXY there.",
			instead: []advice{{when: atURL, fix: "Correct the proxy variables (HTTPS_PROXY, HTTP_PROXY) that gauze is started with, or add the server's host to NO_PROXY."}},
			clues: []clue{
				{certain, `(?i)proxyconnect tcp|HTTP Tunneling|ProxyError|(?:cannot connect|connecting|connection) to (?:the )?proxy|Cannot connect to proxy|Tunnel connection failed|tunneling socket could not be established|proxy (?:error|connection|server)[^\n]{0,30}(?:refused|failed|unreachable|timed out|error)`, func(_ *exam, m *match) bool {
					return !strings.Contains(m.said, "MCP Proxy") && !strings.Contains(m.said, "PORT IS IN USE")
				}},
				{certain, `(?i)(?:unknown|unsupported|invalid) (?:scheme for )?proxy(?: URL| scheme)?|Using SOCKS proxy, but the 'socksio' package is not installed|socksio|Missing dependencies for SOCKS support`, nil},
				{certain, `(?i)407 Proxy Authentication Required|ERR_PROXY_CONNECTION_FAILED|ERR_TUNNEL_CONNECTION_FAILED`, nil},
				{certain, "", func(x *exam, m *match) bool { return x.status(m, 407) }},
				{strong, `(?i)npm (?:ERR!|error) (?:network )?[^\n]*(?:behind a proxy|'proxy' config is set properly)`, func(x *exam, _ *match) bool {
					return localProxy.MatchString(x.text)
				}},
				{strong, `(?i)\b(?:http|https|all)_proxy\b['"]? ?[=:] ?['"]?(?:https?|socks\w*)://`, nil},
			},
			hides: []string{"registry_unreachable", "request_not_sent", "companion_app_not_running", "http_unauthorized", "local_http_server_not_running"},
		},
	}
}

// registry matches hosts that packages come from.
var registry = &wording{source: `(?i)\bnpm[-\w]*registry|registry[-\w]*\.|\bpypi\b|pythonhosted|npmjs|npmmirror|/simple/|npm (?:ERR!|error) network|/v2/[\w./-]+/(?:manifests|blobs)/`}

func aboutRegistry(x *exam, m *match) bool {
	return registry.MatchString(m.said) || registry.MatchString(m.hit)
}

func notRegistry(x *exam, m *match) bool { return !aboutRegistry(x, m) }

// refused is how a refused connection is reported.
var refused = []string{
	`ECONNREFUSED(?::? +|:)(?P<host>[\w.:\[\]-]*?[\w\]]):(?P<port>\d{2,5})\b`,
	`\bECONNREFUSED\b`,
	`ConnectionRefused(?:Error)?\b(?:[^\n]{0,60}?'(?P<host>[\d.]+|localhost)', (?P<port>\d{2,5})|[^\n]{0,20}?port (?P<other>\d{2,5}))?`,
	`(?i)(?:dial|connect)[^\n]{0,60}?(?P<host>[\w.-]+|\[::1\]):(?P<port>\d{2,5}):? [^\n]{0,40}connection refused`,
	`(?i)(?P<host>[\w.-]+):(?P<port>\d{2,5})[^\n]{0,60}connection refused`,
	`(?i)\bconnection refused\b`,
	`(?i)actively refused it|\bos error (?:111|61|10061)\b|\[(?:Errno (?:111|61)|WinError (?:10061|1225))\]|refused the network connection|error=111`,
	`(?i)Unable to connect to the remote server|ERR_CONNECTION_REFUSED|Connect call failed`,
	`Unable to connect\. Is the computer able to access the url\?`,
	`(?i)All connection attempts failed`,
	`(?i)failed to connect to (?P<host>[\w.:-]+) port (?P<port>\d{1,5})`,
}

func refusedWhere(confidence float64, fits func(x *exam, m *match) bool) []clue {
	var clues []clue
	for _, expr := range refused {
		clues = append(clues, clue{confidence, expr, func(x *exam, m *match) bool { return notRegistry(x, m) && fits(x, m) }})
	}
	return clues
}

// aboutLocal reports whether the refused address is on the same machine.
func (x *exam) aboutLocal(m *match) bool {
	if host := m.names["host"]; host != "" {
		return local.MatchString(host) || host == "::1"
	}
	return local.MatchString(m.said) || local.MatchString(x.line)
}

func networkCauses() []cause {
	return []cause{
		{
			name: "docker_daemon_down", category: ConnectionRefused, passes: true,
			explain: "Docker is installed, but its daemon is not running or cannot be reached.",
			fix:     "Start Docker Desktop, or this system's docker service.",
			command: "sudo systemctl start docker",
			instead: []advice{{when: onWindows, fix: "Start Docker Desktop."}},
			clues: []clue{
				{certain, `Cannot connect to the Docker daemon|Is the docker daemon running\?`, nil},
				{certain, `error during connect: [^\n]*?(?:docker|pipe)`, nil},
				{certain, `(?i)(?:open|dial)[^\n]{0,20}//\./pipe/(?:docker\w*|dockerDesktop\w*)[^\n]{0,20}`, nil},
				{certain, `(?i)docker desktop is (?:not running|unable to start|paused|stopped)|Docker (?:is not running|daemon is not running|engine (?:is )?(?:not running|stopped))`, nil},
				{certain, `dial unix [^\n]*docker\.sock: connect: (?:no such file|connection refused)|connect ENOENT [^\n]*docker\.sock`, nil},
				{certain, `Cannot connect to Podman|podman machine[^\n]{0,40}(?:not running|start)`, nil},
				{strong, `failed to connect to the docker API`, nil},
			},
			hides: []string{"data_file_missing", "wrong_directory_argument", "path_not_found", "companion_app_not_running", "local_http_server_not_running", "container_localhost", "gui_path_missing"},
		},
		{
			name: "container_localhost", category: ConnectionRefused,
			explain: "Inside a container, localhost is the container itself, so {theport|a port} on your machine cannot be reached that way.",
			fix:     "Use host.docker.internal (on Linux with --add-host=host.docker.internal:host-gateway) or the service's name instead of localhost.",
			clues: append(refusedWhere(certain, func(x *exam, m *match) bool {
				return x.aboutLocal(m) && (x.container() || strings.Contains(x.line, "docker") || strings.Contains(x.text, "/app/node_modules") || strings.Contains(x.text, "docker-compose") || strings.Contains(x.text, "host.docker.internal"))
			}),
				clue{strong, `host\.docker\.internal`, func(x *exam, _ *match) bool { return strings.Contains(strings.ToLower(x.text), "refused") }}),
			hides: []string{"companion_app_not_running", "local_http_server_not_running"},
		},
		{
			name: "registry_unreachable", category: DNSOrNetwork, passes: true,
			explain: "The package registry ({host|npm or PyPI}) could not be reached, so the server was not downloaded.",
			fix:     "Check the network, or configure a mirror that you trust (npm's registry setting, UV_INDEX_URL). Once installed, the server starts without the registry.",
			clues: []clue{
				{certain, "(?i)failed to fetch:? `?https?://(?P<host>[^/`\\s]+)/", nil},
				{certain, `npm (?:ERR!|error) (?:code|network|errno) ?(?:ENOTFOUND|ETIMEDOUT|ECONNRESET|ECONNREFUSED|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT|EIDLETIMEOUT|request to)`, nil},
				{certain, `npm (?:ERR!|error) network`, nil},
				{certain, `(?:request to|FetchError:[^\n]{0,40}) https?://(?P<host>(?:registry|npm)[\w.-]+)[^\n]*?failed`, nil},
				{certain, `HTTPSConnectionPool\(host='(?P<host>(?:pypi|files)[\w.-]+)'`, nil},
				{certain, `(?:Get|Head) "https://(?P<host>[\w.-]+)/(?:v2/|token\?)[^"\n]*": (?:dial|net/http|context|EOF|read|proxyconnect|tls)`, nil},
				{certain, `error sending request for url \(https?://(?P<host>(?:pypi|files\.pythonhosted|registry|npm|github)[\w.-]*)`, nil},
				{strong, "(?i)failed to download(?: distribution)?:? `[^`\\n]+`", nil},
				{strong, `(?i)Retrying \(Retry\(total=\d`, nil},
				{strong, "", func(x *exam, m *match) bool { return x.npmExit(m, noNetwork) }},
				{strong, `(?i)(?:ENOTFOUND|EAI_AGAIN|ETIMEDOUT|ECONNRESET|ECONNREFUSED)[^\n]{0,80}`, aboutRegistry},
				{strong, `(?i)(?:could not|failed to|unable to) (?:reach|connect to|access|resolve)[^\n]{0,40}(?:registry|pypi|npmjs)`, nil},
				{strong, `(?i)\b(?:install|download)(?:ing|ed)?\b[^\n]{0,60}(?:ETIMEDOUT|ECONNRESET|ECONNREFUSED|ENOTFOUND|EAI_AGAIN|socket hang up|connect(?:ion)? timed? ?out)`, nil},
			},
			hides: []string{"npx_cold_start_timeout", "slow_tool_call", "hostname_wrong", "request_not_sent", "companion_app_not_running", "connect_timed_out"},
		},
		{
			name: "git_fetch_failed", category: DNSOrNetwork, passes: true,
			explain: "The server is installed from a git repository, but git could not fetch the repository.",
			fix:     "To see git's error, run this with the repository's URL from the entry: `git ls-remote URL`",
			clues: []clue{
				{strong, `Git operation failed`, nil},
				{strong, `(?i)failed to (?:clone|fetch)[^\n]*?(?:git|https://github)`, nil},
				{strong, `fatal: (?:unable to access '|could not read (?:from remote|Username)|unable to connect to|The remote end hung up)`, nil},
				{strong, `Failed to (?:resolve|download and build) [^\n]*?git\+https?`, nil},
				{strong, `npm (?:ERR!|error) (?:code 128|An unknown git error|Permission denied \(publickey\))|Permission denied \(publickey\)`, nil},
			},
			hides: []string{"access_denied"},
		},
		{
			name: "endpoint_retired", category: DNSOrNetwork,
			explain: "The operator has shut down or moved the service at this address.",
			fix:     "Use the new address from the server's documentation.",
			clues: []clue{
				{certain, `(?i)(?:has been|was|is) (?:turned (?:down|off)|shut ?down|retired|decommissioned|sunset|discontinued|deprecated and removed)`, nil},
				{certain, `(?i)please use (?P<successor>https?://\S+) instead|no longer (?:available|supported|hosted|in service)|has moved to https?://`, func(_ *exam, m *match) bool { return !strings.Contains(m.said, "deprecated") }},
				{certain, "", func(x *exam, m *match) bool { return x.status(m, 410) }},
			},
		},
		{
			name: "hostname_wrong", category: DNSOrNetwork,
			explain: "The host name {host|in the address} could not be resolved: the name is wrong, or this machine's DNS server has no record of it.",
			fix:     "Check the spelling of {host|the host name} in the configuration. If it is correct, check this machine's network, VPN and DNS.",
			clues: []clue{
				{strong, `getaddrinfo (?:ENOTFOUND|EAI_AGAIN) (?P<host>[\w.-]+)`, notRegistry},
				{strong, `\b(?:ENOTFOUND|EAI_AGAIN|EAI_NONAME|EAI_FAIL)\b`, notRegistry},
				{strong, `lookup (?P<host>[\w.-]+)[^\n]{0,40}: no such host`, notRegistry},
				{strong, `(?i)\bno such host\b|could not resolve host:? ?(?P<host>[\w.-]*)|Name or service not known|nodename nor servname provided|Temporary failure in name resolution|\[Errno 11001\]|\[WinError 11001\]|getaddrinfo failed|failed to lookup address information|dns error|UnknownHostException|No address associated with hostname|ERR_NAME_NOT_RESOLVED|Name does not resolve`, notRegistry},
			},
			hides: []string{"request_not_sent"},
		},
		{
			name: "network_unreachable", category: DNSOrNetwork, passes: true,
			explain: "This machine has no network route to {host|the server}.",
			fix:     "Check the VPN, firewall and IPv6 settings, then test the connection from this machine: `curl -v {url|URL}`",
			clues: []clue{
				{strong, `\b(?:ENETUNREACH|EHOSTUNREACH|ENETDOWN|EADDRNOTAVAIL)\b(?: (?P<host>[\w.:]+))?`, nil},
				{strong, `(?i)network is unreachable|no route to host|host is unreachable|ERR_INTERNET_DISCONNECTED|ERR_ADDRESS_UNREACHABLE`, nil},
			},
		},
		{
			name: "remote_outage", category: DNSOrNetwork, passes: true,
			explain: "The remote service is failing ({status|it returned a server error}). Nothing is wrong on your side.",
			fix:     "Wait and try again. The operator's status page may have details.",
			clues: []clue{
				{strong, "", func(x *exam, m *match) bool {
					return x.status(m, 502, 503, 504, 520, 521, 522, 523, 524, 525, 526, 529, 530)
				}},
				{strong, `(?i)\berror code: 1033\b|Argo Tunnel error|ERR_NGROK_\d+|\((?:502|503|504)\): |tunnel [^\n]{0,30}(?:not found|offline)`, nil},
				{strong, `(?i)\b(?:service (?:is )?(?:temporarily )?unavailable|bad gateway|gateway time-?out|circuit[_ ]open|upstream connect error|no healthy upstream|upstream (?:request )?time(?:d )?-?out|web server is down|temporarily (?:overloaded|unavailable)|overloaded_error)\b`, nil},
			},
		},
		{
			name: "local_http_server_not_running", category: ConnectionRefused, passes: true,
			explain: "Nothing is listening on {theport|the configured port} on this machine: the HTTP server that the client connects to is not running.",
			fix:     "Start that server first, or correct the port in the URL.",
			clues: append(refusedWhere(strong, func(x *exam, m *match) bool { return x.remote() && x.aboutLocal(m) }),
				clue{likely, `error sending request for url \((?P<url>[^)\n]+)\)`, func(_ *exam, m *match) bool { return local.MatchString(m.names["url"]) }},
				clue{guess, `(?i)\bfetch failed\b|failed to fetch\b|All connection attempts failed`, func(x *exam, _ *match) bool {
					return local.MatchString(x.address()) && !strings.HasPrefix(x.address(), "https:")
				}}),
			hides: []string{"companion_app_not_running"},
		},
		{
			name: "companion_app_not_running", category: ConnectionRefused, passes: true,
			explain: "The connection to {endpoint|the program or database that the server uses} was refused: it is not running, or it listens on a different address.",
			fix:     "Start that program, or correct the host and port in the server's settings. A port published by docker compose may differ from the one inside the container.",
			instead: []advice{{when: atURL, explain: "{host|The server's address} refused the connection: the server is not running, or it listens on a different port.",
				fix: "Check the host and port in the address. If they are correct, tell the server's operator that the server is down."}},
			clues: append(refusedWhere(likely, func(*exam, *match) bool { return true }),
				clue{strong, `(?i)(?:is|make sure|ensure)[^\n]{0,20} (?P<host>[A-Z][\w ]{1,30}?) (?:is )?(?:open|running|started|launched)(?: and| with|\?|\.)`, func(x *exam, m *match) bool {
					return !strings.Contains(m.said, "Docker") && connecting.MatchString(x.text)
				}},
				clue{strong, `(?i:could not|couldn't|cannot|can't|unable to|failed to) (?i:connect to(?: the)?) (?P<host>[A-Z]\w+(?: \w+)?)(?:\.| at| on|:|$)[^\n]{0,60}`, func(x *exam, m *match) bool {
					return !slices.Contains([]string{"Server", "Host", "Remote", "API", "Proxy", "Client", "SSE", "HTTP"}, strings.Fields(m.names["host"])[0]) && !strings.Contains(m.said, "MCP") && !strings.Contains(m.said, "Docker") && !strings.Contains(m.said, "Failed to connect to PostgreSQL") && !strings.Contains(m.said, "rror: read")
				}},
				clue{strong, `\bconnect ENOENT (?P<host>[^\s']+)|(?i)\bcannot connect to (?P<program>\w+) at (?:\S+?):(?P<port>\d{2,5})|The connection to the server \S+ was refused|no devices(?:/emulators)? (?:found|connected|attached)|device (?:offline|not found)\b`, nil},
				clue{strong, `(?i)\bno (?:[A-Z]\w+ )?(?:plugin|extension|editor|add-?on|browser|client|device|bridge)s?(?: is| are)? (?:currently )?connected\b`, nil},
				clue{certain, `(?i:failed to|could not|cannot|unable to) connect to (?P<program>[A-Z][\w ]{1,24})[.!] ?Did you (?i:run|start|open|launch|enable)\b`, nil},
				clue{strong, `(?i)WebSocket connection to '?wss?://(?P<host>localhost|127\.0\.0\.1|\[::1\]):(?P<port>\d{2,5})[^\n]{0,20} failed`, nil},
				clue{strong, `(?i)\b(?:NO_ACTIVE_(?:EXTENSION|CLIENT|EDITOR|DOCUMENT)|(?:EXTENSION|PLUGIN|APP|EDITOR)_NOT_(?:CONNECTED|RUNNING))\b`, nil},
				clue{strong, `(?i)(?:addon|add-on|plugin|extension|app|editor|bridge|companion)[^\n]{0,30}(?:is )?(?:not (?:running|connected|reachable|started|open)|is running\b)`, nil},
				clue{strong, `(?i)Could not connect to (?P<host>Blender|Unity|Unreal|Figma|Ghidra|IDA|Chrome|Godot|Photoshop|Obsidian)`, nil},
				clue{likely, `(?m)(?:^|[:\s])(?P<host>[A-Z][\w.]*(?: [A-Z]\w+)?) is(?:n't| not) (?:running|started|open|reachable|available)\b`, func(_ *exam, m *match) bool { return !strings.Contains(m.said, "Docker") }},
				clue{strong, `(?i)no (?:connected )?(?:browser )?(?:extension|editor|client|instance|device|plugin)s? (?:is |are )?(?:connected|found|running|available)|not connected to (?:the )?(?:browser )?extension`, nil}),
		},
		{
			name: "request_not_sent", category: DNSOrNetwork, passes: true,
			explain: "The request to {url|the server} could not be sent: the network, DNS, a proxy or a firewall on this side prevented it.",
			fix:     "Test the connection from this machine: `curl -v {url|URL}`",
			clues: []clue{
				{guess, `(?i)\b(?:connection reset by peer|ECONNRESET|socket hang up|other side closed|connection aborted|forcibly closed by the remote host|TLS handshake timeout|UND_ERR_SOCKET)\b`, func(x *exam, m *match) bool { return x.remote() && notRegistry(x, m) }},
				{likely, `error sending request for url \((?P<url>[^)\n]+)\)`, func(x *exam, m *match) bool { return notRegistry(x, m) && !local.MatchString(m.names["url"]) }},
				{guess, `\berror sending request\b`, notRegistry},
				{guess, `(?i)net::ERR_(?:FAILED|CONNECTION_\w+|NETWORK_\w+)|httpx\.ConnectError|aiohttp\.client_exceptions\.ClientConnectorError|WebException|NameResolutionError`, notRegistry},
			},
		},
		{
			name: "connect_timed_out", category: Timeout, passes: true,
			explain: "{host|The address} did not respond: the connection was neither accepted nor refused. This usually means a firewall, a VPN or a wrong address.",
			fix:     "Check whether this machine can reach the host: `curl -v {url|URL}`",
			clues: []clue{
				{likely, `(?:connect )?ETIMEDOUT(?: (?P<host>[\w.:-]+))?`, notRegistry},
				{likely, `(?i)i/o timeout|connection timed out|connect(?:ion)? time(?:d )?out|ConnectTimeout(?:Error)?|UND_ERR_CONNECT_TIMEOUT|os error (?:110|60|10060)|ERR_CONNECTION_TIMED_OUT|semaphore timeout period has expired|\[WinError (?:10060|121)\]|\[Errno (?:110|60)\]`, notRegistry},
			},
		},
	}
}

func portCauses() []cause {
	return []cause{
		{
			name: "second_instance_running", category: PortInUse, passes: true,
			explain: "The server is already running and does not allow a second instance ({path|it holds a lock}).",
			fix:     "Stop the other instance, or give this one its own directory or port.",
			clues: []clue{
				{certain, `(?i)(?:another|an other|a second|existing) (?:instance|server|process|copy)[^\n]{0,40}(?:is )?(?:already )?running|already (?:running|started|active)(?: \(| with| on| for| in|\.|,|$)|only one instance|is already (?:being )?used by|Opening in existing browser session`, func(_ *exam, m *match) bool { return !strings.Contains(m.said, "event loop") }},
				{certain, `(?i)(?:browser|profile|user data dir\w*)[^\n]{0,60}already in use|SingletonLock|ProcessSingleton|use --isolated to run multiple`, nil},
				{certain, `(?i)(?:could not|failed to|unable to|cannot) (?:acquire|obtain|get)[^\n]{0,30} lock|database is locked|LOCK: Resource temporarily unavailable|lock file[^\n]{0,40}exists|Could not set lock on file`, nil},
				{strong, `terminated by other getUpdates request`, nil},
			},
		},
		{
			name: "orphan_process_holds_port", category: PortInUse, passes: true,
			explain: "An earlier instance of the server was never stopped and still uses {theport|its port} (process {pid|unknown}).",
			fix:     "Find that process and stop it: `{$listener}`",
			clues: []clue{
				{certain, `(?i)port (?P<port>\d{2,5})[^\n]{0,60}(?:PID|process)[ :=#(]+(?P<pid>\d+)`, func(_ *exam, m *match) bool { return !strings.Contains(m.said, "authentication") }},
				{strong, `(?i)(?:orphan|stale|zombie|previous|leftover)[^\n]{0,40}(?:process|instance|server)[^\n]{0,60}port`, nil},
			},
			hides: []string{"port_taken_by_sibling"},
		},
		{
			name: "port_taken_by_sibling", category: PortInUse, passes: true,
			explain: "A different process already uses {theport|the server's port}. It is often a second copy of the same server, started by another client.",
			fix:     "Configure a different port if the server supports it, or stop the other process. To find it: `{$listener}`",
			clues: []clue{
				{certain, `(?i)error while attempting to bind on address \('(?P<host>[^'\n]+)', (?P<port>\d+)`, nil},
				{certain, `EADDRINUSE(?:: address already in use)?[,:]? ?(?:(?P<host>[\w.:\[\]*%-]*):)?(?P<port>\d{2,5})(?:$|[^\w.:])`, nil},
				{certain, `(?i)(?:listen|bind)[^\n]{0,60}?:(?P<port>\d{2,5}):? [^\n]{0,30}address (?:is )?already in use`, nil},
				{certain, `(?i)address already in use[^\n]{0,20}?[ (]?(?:(?P<host>[\w.:\[\]*%-]*):)(?P<port>\d{2,5})(?:$|[^\w.:])`, nil},
				{certain, `(?i)\bEADDRINUSE\b|address already in use`, nil},
				{certain, `(?i)\[Errno (?:48|98)\]|\[WinError 10048\]|\[Errno 10048\]|os error (?:48|98|10048)\b`, nil},
				{certain, `(?i)only one usage of each socket address`, nil},
				{certain, `(?i)\bport is in use\b|already running on port (?P<port>\d{2,5})|(?:is )?(?:using|occupying|holding|bound to|blocking) (?:the )?port (?P<taken>\d{2,5})`, nil},
				{certain, `(?i)port (?P<port>\d{2,5}) (?:is |was )?(?:already )?(?:in use|taken|occupied|allocated|being used|not available|unavailable)`, nil},
				{certain, `(?i)conflicts? with an existing registration`, nil},
				{certain, `\bWSAEADDRINUSE\b|SocketException \(10048\)|(?i)port (?:is )?already in use|address in use\b|already listening on (?:port )?(?P<port>\d{2,5})`, nil},
				{certain, `(?i)port is already allocated|Bind for [\d.]+:(?P<port>\d+) failed|Ports are not available`, nil},
				{strong, `(?i)(?:failed to|could not|cannot|unable to) (?:bind|listen)[^\n]{0,40}port (?P<port>\d{2,5})`, func(_ *exam, m *match) bool {
					return !strings.Contains(m.said, "EACCES") && !strings.Contains(strings.ToLower(m.said), "permission")
				}},
				{strong, `(?i)no (?:available|free) ports?\b`, nil},
			},
			hides: []string{"crashed", "http_server_run_as_stdio", "stdout_log_pollution", "connection_refused"},
		},
	}
}

// Patterns for the conditions of clues.
var (
	localProxy = &wording{source: `(?i)ECONNREFUSED 127\.0\.0\.1:(?:78|10|80|20|33|88)\d\d`}
	connecting = &wording{source: `(?i)connect|refused|reach`}
)
