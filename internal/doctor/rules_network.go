package doctor

import (
	"slices"
	"strings"
)

func tlsCauses() []cause {
	return []cause{
		{
			name: "private_ca_not_trusted", category: TLSOrProxy,
			explain: "The server's certificate is signed by an authority this program does not know: a private one, or a company's proxy that opens encrypted connections.",
			fix:     "Give the program the authority's certificate (NODE_EXTRA_CA_CERTS={$path ca.pem} for Node, SSL_CERT_FILE for most others). Do not switch the check off.",
			instead: []advice{
				{when: func(x *exam, _ *match) bool { return x.runs("npx", "node", "npm", "pnpm", "yarn", "tsx") }, fix: "Give Node the authority's certificate, in the \"env\" part of the entry: \"NODE_EXTRA_CA_CERTS\": \"{$json ca.pem}\". Do not switch the check off."},
				{when: func(x *exam, _ *match) bool { return x.runs("uvx", "uv", "python", "python3", "pipx") }, fix: "Give Python and uv the authority's certificate, in the \"env\" part of the entry: \"SSL_CERT_FILE\": \"{$json ca.pem}\". Do not switch the check off."},
				{when: func(x *exam, m *match) bool { return liveURL(x, m) && onWindows(x, m) }, fix: "The user has to add the authority's certificate to their certificate store, if they trust it. Do not switch the check off.", command: "{$trust}"},
				{when: liveURL, fix: "Add the authority's certificate to this system's store, or on Linux start gauze with SSL_CERT_FILE set to its file. Do not switch the check off."},
			},
			clues: []clue{
				{certain, `\b(?:UNABLE_TO_GET_ISSUER_CERT(?:_LOCALLY)?|SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_VERIFY_LEAF_SIGNATURE|CERT_UNTRUSTED)\b`, nil},
				{certain, `(?i)unable to get local issuer certificate|self[- ]signed certificate|unable to verify the first certificate`, nil},
				{certain, `CERTIFICATE_VERIFY_FAILED|certificate verify failed`, nil},
				{certain, `x509: certificate signed by unknown authority|x509: “[^”\n]+” certificate is not trusted`, nil},
				{certain, `invalid peer certificate: (?:UnknownIssuer|BadSignature|CaUsedAsEndEntity|Other)`, nil},
				{certain, `\bUnknownIssuer\b|\bunknown ca\b|SSLCertVerificationError|(?i)certificate (?:is |was )?(?:not trusted|untrusted|verification failed)|(?i)untrusted (?:root )?certificate|unable to get issuer certificate|Could not establish trust relationship`, nil},
				{guess, `(?i)\bfetch failed\b`, func(x *exam, _ *match) bool { // a machine has no public certificate for itself
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
			explain: "The server's certificate is not valid for {host|this address}: it has expired, is not valid yet, or is made out to another name.",
			fix:     "Renew it on the server, use the name it is made out to, or set this machine's clock right.",
			clues: []clue{
				{certain, `\b(?:CERT_HAS_EXPIRED|ERR_TLS_CERT_ALTNAME_INVALID|CERT_NOT_YET_VALID|ERR_CERT_DATE_INVALID|ERR_CERT_COMMON_NAME_INVALID)\b`, nil},
				{certain, `(?i)certificate has expired|certificate is not valid (?:for|yet)|Hostname/IP does not match certificate's altnames|x509: certificate (?:has expired|is valid for|is not valid)|hostname mismatch, certificate is not valid|invalid peer certificate: (?:Expired|NotValidForName|certificate not valid for name)`, nil},
			},
			hides: []string{"request_not_sent", "private_ca_not_trusted"},
		},
		{
			name: "tls_handshake_failed", category: TLSOrProxy,
			explain: "The encrypted connection could not be set up: one side does not speak TLS here, or not in a version the other takes.",
			fix:     "Check http:// against https:// and the port in the URL (a server on your own machine usually speaks plain http); if both are right, ask whether a proxy or firewall cuts the connection.",
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
			explain: "A proxy stands between this machine and the server ({host|HTTP_PROXY, HTTPS_PROXY or ALL_PROXY}), and it does not pass the connection on.",
			fix:     "Correct the proxy variables in the server's environment, or name the host it wants to reach in NO_PROXY there.",
			instead: []advice{{when: atURL, fix: "Correct the proxy variables (HTTPS_PROXY, HTTP_PROXY) that gauze is started with, or name the server's host in NO_PROXY."}},
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
				{strong, `(?i)\b(?:http|https|all)_proxy\b ?[=:]`, nil},
			},
			hides: []string{"registry_unreachable", "request_not_sent", "companion_app_not_running", "http_unauthorized", "local_http_server_not_running"},
		},
	}
}

// registry is a host that packages come from.
var registry = &wording{source: `(?i)\bnpm[-\w]*registry|registry[-\w]*\.|\bpypi\b|pythonhosted|npmjs|npmmirror|/simple/|npm (?:ERR!|error) network|/v2/[\w./-]+/(?:manifests|blobs)/`}

func aboutRegistry(x *exam, m *match) bool {
	return registry.MatchString(m.said) || registry.MatchString(m.hit)
}

func notRegistry(x *exam, m *match) bool { return !aboutRegistry(x, m) }

// refused is how a connection that nobody takes is reported.
var refused = []string{
	`ECONNREFUSED[ :]+(?P<host>[\w.:\[\]-]*?[\w\]]):(?P<port>\d{2,5})\b`,
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

func refusedWhere(sure float64, fits func(x *exam, m *match) bool) []clue {
	var clues []clue
	for _, says := range refused {
		clues = append(clues, clue{sure, says, func(x *exam, m *match) bool { return notRegistry(x, m) && fits(x, m) }})
	}
	return clues
}

// aboutLocal tells whether the refused address is on the same machine.
func (x *exam) aboutLocal(m *match) bool {
	if host := m.names["host"]; host != "" {
		return local.MatchString(host) || host == "::1"
	}
	return local.MatchString(m.said) || local.MatchString(x.line)
}

func networkCauses() []cause {
	return []cause{
		{
			name: "docker_daemon_down", category: ConnectionRefused,
			explain: "Docker is installed, but its engine does not run (or the client may not see it).",
			fix:     "Start Docker Desktop, or the docker service of this system.",
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
			explain: "Inside of a container localhost is the container itself: what listens on port {port|there} of your machine is not reached that way.",
			fix:     "Use host.docker.internal (on Linux with --add-host=host.docker.internal:host-gateway) or the service's name instead of localhost.",
			clues: append(refusedWhere(certain, func(x *exam, m *match) bool {
				return x.aboutLocal(m) && (x.container() || strings.Contains(x.line, "docker") || strings.Contains(x.text, "/app/node_modules") || strings.Contains(x.text, "docker-compose") || strings.Contains(x.text, "host.docker.internal"))
			}),
				clue{strong, `host\.docker\.internal`, func(x *exam, _ *match) bool { return strings.Contains(strings.ToLower(x.text), "refused") }}),
			hides: []string{"companion_app_not_running", "local_http_server_not_running"},
		},
		{
			name: "registry_unreachable", category: DNSOrNetwork,
			explain: "The package registry could not be reached ({host|npm or PyPI}), so the server could not be downloaded.",
			fix:     "Check the network, or point to a mirror you trust (npm config registry, UV_INDEX_URL); once installed, the server starts without it.",
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
			name: "git_fetch_failed", category: DNSOrNetwork,
			explain: "The server is installed from a git repository, and git could not fetch it.",
			fix:     "Try the same by hand and see what git says: git ls-remote URL, with the repository's address from the entry.",
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
			explain: "This address is out of service: its operator has turned it off or moved it.",
			fix:     "Use the address the operator names now; see the server's documentation.",
			clues: []clue{
				{certain, `(?i)(?:has been|was|is) (?:turned (?:down|off)|shut ?down|retired|decommissioned|sunset|discontinued|deprecated and removed)`, nil},
				{certain, `(?i)please use (?P<successor>https?://\S+) instead|no longer (?:available|supported|hosted|in service)|has moved to https?://`, func(_ *exam, m *match) bool { return !strings.Contains(m.said, "deprecated") }},
				{certain, "", func(x *exam, m *match) bool { return x.status(m, 410) }},
			},
		},
		{
			name: "hostname_wrong", category: DNSOrNetwork,
			explain: "The host {host|in the address} has no entry in DNS: the name is wrong, or this machine cannot look it up.",
			fix:     "Check the spelling of {host|the host's name} where it is configured; if it is right, check the network, VPN or DNS of this machine.",
			clues: []clue{
				{strong, `getaddrinfo (?:ENOTFOUND|EAI_AGAIN) (?P<host>[\w.-]+)`, notRegistry},
				{strong, `\b(?:ENOTFOUND|EAI_AGAIN|EAI_NONAME|EAI_FAIL)\b`, notRegistry},
				{strong, `lookup (?P<host>[\w.-]+)[^\n]{0,40}: no such host`, notRegistry},
				{strong, `(?i)\bno such host\b|could not resolve host:? ?(?P<host>[\w.-]*)|Name or service not known|nodename nor servname provided|Temporary failure in name resolution|\[Errno 11001\]|\[WinError 11001\]|getaddrinfo failed|failed to lookup address information|dns error|UnknownHostException|No address associated with hostname|ERR_NAME_NOT_RESOLVED|Name does not resolve`, notRegistry},
			},
			hides: []string{"request_not_sent"},
		},
		{
			name: "network_unreachable", category: DNSOrNetwork,
			explain: "There is no way through the network to {host|the server} from here.",
			fix:     "Check the connection (VPN, firewall, IPv6) from this machine: curl -v {url|URL}",
			clues: []clue{
				{strong, `\b(?:ENETUNREACH|EHOSTUNREACH|ENETDOWN|EADDRNOTAVAIL)\b(?: (?P<host>[\w.:]+))?`, nil},
				{strong, `(?i)network is unreachable|no route to host|host is unreachable|ERR_INTERNET_DISCONNECTED|ERR_ADDRESS_UNREACHABLE`, nil},
			},
		},
		{
			name: "remote_outage", category: DNSOrNetwork,
			explain: "The service behind the address does not work at the moment ({status|it answers with a server error}); nothing on your side is wrong.",
			fix:     "Wait and try again; see the operator's status page.",
			clues: []clue{
				{strong, "", func(x *exam, m *match) bool {
					return x.status(m, 502, 503, 504, 520, 521, 522, 523, 524, 525, 526, 529, 530)
				}},
				{strong, `(?i)\berror code: 1033\b|Argo Tunnel error|ERR_NGROK_\d+|\((?:502|503|504)\): |tunnel [^\n]{0,30}(?:not found|offline)`, nil},
				{strong, `(?i)\b(?:service (?:is )?(?:temporarily )?unavailable|bad gateway|gateway time-?out|circuit[_ ]open|upstream connect error|no healthy upstream|upstream (?:request )?time(?:d )?-?out|web server is down|temporarily (?:overloaded|unavailable)|overloaded_error)\b`, nil},
			},
		},
		{
			name: "local_http_server_not_running", category: ConnectionRefused,
			explain: "Nothing listens on {port|the port} of this machine: the server the client wants to reach over HTTP is not running.",
			fix:     "Start that server first, or correct the port in the URL.",
			clues: append(refusedWhere(strong, func(x *exam, m *match) bool { return x.remote() && x.aboutLocal(m) }),
				clue{likely, `error sending request for url \((?P<url>[^)\n]+)\)`, func(_ *exam, m *match) bool { return local.MatchString(m.names["url"]) }},
				clue{guess, `(?i)\bfetch failed\b|failed to fetch\b|All connection attempts failed`, func(x *exam, _ *match) bool {
					return local.MatchString(x.address()) && !strings.HasPrefix(x.address(), "https:")
				}}),
			hides: []string{"companion_app_not_running"},
		},
		{
			name: "companion_app_not_running", category: ConnectionRefused,
			explain: "Nobody takes connections on {host|the address} {port|the server wants to reach}: the program or database it works with is not running, or listens elsewhere.",
			fix:     "Start that program, or correct host and port in the server's settings; a published docker-compose port may differ from the inner one.",
			instead: []advice{{when: atURL, explain: "Nobody takes connections at {host|the server's address}: the server is not running, or listens on another port.",
				fix: "Check host and port of the address; if they are right, tell who runs the server that it is down."}},
			clues: append(refusedWhere(likely, func(*exam, *match) bool { return true }),
				clue{strong, `(?i)(?:is|make sure|ensure)[^\n]{0,20} (?P<host>[A-Z][\w ]{1,30}?) (?:is )?(?:open|running|started|launched)(?: and| with|\?|\.)`, func(x *exam, m *match) bool {
					return !strings.Contains(m.said, "Docker") && connecting.MatchString(x.text)
				}},
				clue{strong, `(?i:could not|couldn't|cannot|can't|unable to|failed to) (?i:connect to(?: the)?) (?P<host>[A-Z]\w+(?: \w+)?)(?:\.| at| on|:|$)[^\n]{0,60}`, func(x *exam, m *match) bool {
					return !slices.Contains([]string{"Server", "Host", "Remote", "API", "Proxy", "Client", "SSE", "HTTP"}, m.names["host"]) && !strings.Contains(m.said, "MCP") && !strings.Contains(m.said, "Docker") && !strings.Contains(m.said, "Failed to connect to PostgreSQL") && !strings.Contains(m.said, "rror: read")
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
			name: "request_not_sent", category: DNSOrNetwork,
			explain: "The request to {url|the server} could not be sent at all: network, DNS, proxy or firewall on this side.",
			fix:     "See what the network says: curl -v {url|URL}",
			clues: []clue{
				{guess, `(?i)\b(?:connection reset by peer|ECONNRESET|socket hang up|other side closed|connection aborted|forcibly closed by the remote host|TLS handshake timeout|UND_ERR_SOCKET)\b`, func(x *exam, m *match) bool { return x.remote() && notRegistry(x, m) }},
				{likely, `error sending request for url \((?P<url>[^)\n]+)\)`, func(x *exam, m *match) bool { return notRegistry(x, m) && !local.MatchString(m.names["url"]) }},
				{guess, `\berror sending request\b`, notRegistry},
				{guess, `(?i)net::ERR_(?:FAILED|CONNECTION_\w+|NETWORK_\w+)|httpx\.ConnectError|aiohttp\.client_exceptions\.ClientConnectorError|WebException|NameResolutionError`, notRegistry},
			},
		},
		{
			name: "connect_timed_out", category: Timeout,
			explain: "Nobody answered at {host|the address}: the connection was neither taken nor refused. Usually a firewall, a VPN, or a wrong address.",
			fix:     "See whether the host can be reached from here: curl -v {url|URL}",
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
			name: "second_instance_running", category: PortInUse,
			explain: "The server is already running and does not want to run twice ({path|it holds a lock}).",
			fix:     "Stop the other instance first, or give this one a folder or port of its own.",
			clues: []clue{
				{certain, `(?i)(?:another|an other|a second|existing) (?:instance|server|process|copy)[^\n]{0,40}(?:is )?(?:already )?running|already (?:running|started|active)(?: \(| with| on| for| in|\.|,|$)|only one instance|is already (?:being )?used by|Opening in existing browser session`, func(_ *exam, m *match) bool { return !strings.Contains(m.said, "event loop") }},
				{certain, `(?i)(?:browser|profile|user data dir\w*)[^\n]{0,60}already in use|SingletonLock|ProcessSingleton|use --isolated to run multiple`, nil},
				{certain, `(?i)(?:could not|failed to|unable to|cannot) (?:acquire|obtain|get)[^\n]{0,30} lock|database is locked|LOCK: Resource temporarily unavailable|lock file[^\n]{0,40}exists|Could not set lock on file`, nil},
				{strong, `terminated by other getUpdates request`, nil},
			},
		},
		{
			name: "orphan_process_holds_port", category: PortInUse,
			explain: "Port {port|of the server} is still held by an earlier run of it that was never ended (process {pid|unknown}).",
			fix:     "Find it and stop it: {$listener}",
			clues: []clue{
				{certain, `(?i)port (?P<port>\d{2,5})[^\n]{0,60}(?:PID|process)[ :=#(]+(?P<pid>\d+)`, nil},
				{strong, `(?i)(?:orphan|stale|zombie|previous|leftover)[^\n]{0,40}(?:process|instance|server)[^\n]{0,60}port`, nil},
			},
			hides: []string{"port_taken_by_sibling"},
		},
		{
			name: "port_taken_by_sibling", category: PortInUse,
			explain: "Port {port|that the server wants} is taken by another program, often a second copy of the same server started by another client.",
			fix:     "Give this one another port where the server takes one, or stop the other: {$listener}",
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

// What conditions of clues ask for.
var (
	localProxy = &wording{source: `(?i)ECONNREFUSED 127\.0\.0\.1:(?:78|10|80|20|33|88)\d\d`}
	connecting = &wording{source: `(?i)connect|refused|reach`}
)
