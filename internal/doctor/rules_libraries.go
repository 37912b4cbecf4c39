package doctor

import "strings"

// libraryClues returns the error messages of libraries that all kinds of servers use: command-line
// parsers, database drivers, service clients, web frameworks and loaders of native code.
func libraryClues() map[string][]clue {
	notCall := func(x *exam, _ *match) bool { return !ofACall.MatchString(x.text) }
	return map[string][]clue{
		"required_argument_missing": {
			// yargs, cobra, click, System.CommandLine, oclif, clap, Symfony
			{certain, `(?i)not enough (?:non-option )?arguments?\b|\baccepts? (?:at least |between )?\d+(?: and \d+)? arg\(s\), received \d|requires at least \d+ arg\(s\)|Required (?:argument|command|option)s? (?:was |were )?(?:missing for|not provided)|Missing \d+ required args?:|\bMissing command\.|requires a subcommand but|^Option ['"]?-{1,2}[\w-]+['"]? is required`, notCall},
			{strong, `(?i)\b(?:you must|please|must) (?:specify|provide|pass|give|supply) (?:at least one |one or more |an? |the |your )?(?P<option>(?:\w+ )?(?:director(?:y|ies)|folders?|paths?|files?|vault|repository|project))\b`, notCall},
		},
		"entry_shape_wrong": {
			{strong, `KeyError: '(?:mcpServers|servers|mcp_servers|command|transport)'|Cannot read properties of (?:undefined|null) \(reading '(?:command|args|mcpServers|env|url|transport)'\)`, nil},
			{strong, `(?i)\binvalid manifest\b|\bmanifest(?:\.json)?\b[^\n]{0,20}(?:is )?(?:invalid|not valid|validation failed|malformed)`, nil},
			{strong, `(?i)\b(?:config|configuration|settings)\b[^\n]{0,20}(?:validation|schema) (?:error|failed)|\bdata/(?:mcpServers|servers)/`, nil},
			{strong, `(?i)\bserver ['"` + "`" + `]?(?P<option>[\w.-]+)['"` + "`" + `]?: (?:unsupported|unknown|invalid) (?:type|transport|command|url)\b|server with (?:that|this|the same) name already exists`, nil},
		},
		"json_syntax": {
			{strong, `(?i)\btoml: (?:expected|invalid|cannot)|\bduplicate key\b|trailing commas? (?:is |are )?not allowed`, nil},
		},
		"setting_value_invalid": {
			{strong, `(?i)\bhttps is required\b|\bmust (?:use|be|start with) https\b`, nil},
			// requests, httpx, Java, .NET, Go: an invalid URL
			{certain, `(?i)No connection adapters were found for|\bMissingSchema\b|\bInvalidSchema\b|\bUnsupportedProtocol\b|\bMalformedURLException\b|URI with undefined scheme|\bUriFormatException\b|invalid request URI was provided|unsupported protocol scheme|invalid character "[^"\n]{1,4}" in host name`, nil},
			{strong, `(?m)(?:stderr\] |stderr: |^|Error: )Invalid URL\.?\s*$`, func(x *exam, _ *match) bool { return !x.remote() }},
			{strong, `(?i)\binvalid (?:environment variable|--?[\w-]+|header) format\b|\binvalid env file\b|argument -{1,2}[\w-]+: invalid \w+ value|\bis not (?:a )?valid (?:value )?for (?:option )?-{1,2}\w|invalid literal for int\(\)[^\n]{0,60}\bPORT\b`, nil},
			{strong, `(?i)\bInvalid Version: \S|could not parse SQLAlchemy URL|\binvalid URL:? ['"]?(?:undefined|null|None|\$\{)|\bport must be (?:a number|an integer|between|in the range)|\bENOTFOUND https?(?:$|[\s:'"])`, nil},
			{strong, `(?i)^\s*(?:\w*Error: )?Invalid URL(?:: |\s*$)`, func(x *exam, _ *match) bool { return !x.remote() }},
		},
		"client_skips_initialize": {
			{strong, `(?i)\brequest before (?:the )?initiali[sz]ation\b`, nil},
			{certain, `(?i)\binvalid during (?:session )?initiali[sz]ation|\binitialize must be the first\b|\bbefore (?:the )?['"` + "`" + `]?(?:notifications/)?initialized['"` + "`" + `]? (?:notification|message)`, nil},
		},
		"optional_method_probed": {
			{strong, `(?i)\b(?:unknown|unsupported|unhandled|unimplemented) method:? ['"` + "`" + `]?(?P<method>initialize|tools/(?:list|call))\b`, nil},
			{strong, `(?i)\b(?:ping|prompts|resources|roots|logging|completions?)(?:/[\w/]+)? method (?:is )?not (?:implemented|supported|found)`, nil},
			{strong, `(?i)\bdoes not support (?:task-augmented|sampling|elicitation|completions?|roots|tasks|resource (?:subscriptions|templates)|progress)\b`, nil},
		},
		"version_not_negotiated": {
			{strong, `(?i)\bonly (?:supports?|accepts?|speaks?) (?:the )?(?:MCP )?protocol version\b`, nil},
		},
		"invalid_jsonrpc_message": {
			{certain, `(?i)["'` + "`" + `]id["'` + "`" + `] must be (?:an? )?(?:integer|string|number)|\bprotocol violation\b|\b(?:notification|response|message) with(?:out)? (?:an? )?id\b|unexpected message[^\n]{0,30}\b(?:InitializeResult|initialize)|failed to deserialize (?:the )?(?:response|message|result)\b`, nil},
			{strong, `(?i)\bjsonrpc\b['"` + "`" + `]? (?:must|should|has to) be\b|unexpected (?:response|message) id\b|(?:returned|sent|got|received) an? (?:invalid|malformed) (?:initialize|tools/list|JSON-?RPC) (?:result|response|message)|Field '(?:jsonrpc|method|protocolVersion)' is required|\b(?:UnrecognizedPropertyException|MismatchedInputException|MissingFieldException|JsonMappingException)\b[^\n]{0,200}(?:McpSchema|modelcontextprotocol|JSONRPC)`, nil},
		},
		"peer_too_old": {
			{strong, `(?i)\b(?:plugin|extension|add-?on|bridge|client|app)\b[^\n]{0,40}\bversions?\b[^\n]{0,30}(?:does not match|do not match|mismatch|incompatible)|\b(?:plugin|extension|add-?on|bridge)[^\n]{0,20} and [^\n]{0,20}versions (?:are|do)\b`, func(_ *exam, m *match) bool {
				return !otherVersions.MatchString(m.said) && !strings.Contains(strings.ToLower(m.said), "protocol")
			}},
		},
		"dependency_version_drift": {
			{strong, `TypeError: \(0 ?, ?[\w.$]+\) is not a function|(?i:\bduplicate \w+ versions?\b)|\bTypeLoadException\b|\bprocedure entry point\b|only supports (?:Chrome|Chromium|Firefox|Edge) version|pip's dependency resolver|cannot load module more than once`, nil},
			{certain, `'(?P<module>Server|FastMCP|McpServer|ClientSession|MCPServer)' object has no attribute|\bmodule '(?P<package>[\w.]+)' has no attribute '\w+'|is of type <class '[^'\n]+'> \(expecting <class`, nil},
			{strong, `(?i)\bversion of (?P<module>[\w.-]+) is (?:incompatible|not compatible) with\b|\bmissing go\.sum entry\b`, nil},
		},
		"venv_not_used": {
			{strong, `(?i)\b(?:could not|cannot|failed to|unable to) import (?:the )?(?:module|package) |\bError loading ASGI app\b|\bneed to install (?:the )?[^\n]{1,40} (?:extra|package|library)|\b(?:library|package|module|extra) is required,? but (?:it is |is |was )?(?:not installed|missing)`, nil},
			{strong, `(?m)\bNo module named (?P<module>[a-z_][\w.]*)[ \t]*$`, func(_ *exam, m *match) bool { return !newerPython(m.names["module"]) }},
			{strong, `(?i)\b(?:install|run)(?: it| them)?(?: with| using|:)? ['"` + "`" + `]?(?:python3? -m )?(?:pip3?|uv pip|conda|poetry) (?:install|add) (?P<module>[\w.\[\]-]+)`, notCall},
		},
		"shared_library_missing": {
			{certain, `\.so[.\d]* => not found|(?i)\b[\w-]+\.dylib\b[^\n]{0,40}\b(?:not found|no such file)`, nil},
			// .NET, ODBC, Oracle, ctypes
			{certain, `(?i)unable to load (?:shared library|DLL) '(?P<module>[^'\n]+)'|\bDllNotFoundException\b|Can't open lib '(?P<driver>[^'\n]+)'|DPI-1047|no library called "(?P<library>[^"\n]+)" was found|Data source name not found and no default driver`, nil},
		},
		"native_build_failed": {
			{strong, "(?i)error: (?:could not|failed to) compile `", nil},
			{strong, "(?i)linker `\\w+` not found|\\bpg_config executable not found|Cannot find native binding|Failed building wheel", nil},
		},
		"broken_npm_install": {
			{strong, `(?i)\bMaybe you need to "?\w+ install|\bENOENT\b[^\n]{0,60}'[^'\n]*[/\\]node_modules[/\\][^'\n]*\.(?:wasm|node|dll|so|dylib|json|c?js|mjs)'|\bmodel (?:file )?(?:is |was )?not (?:downloaded|found|installed|available)\b|Dynamic require of "`, nil},
			{strong, `(?i)\bnode_modules\b[^\n]{0,20}(?:is |are )?(?:missing|not found|does not exist)|ERR_PNPM_NO_IMPORTER_MANIFEST_FOUND|The package "(?P<module>[^"\n]+)" could not be found, and is needed by|vendor/autoload\.php\b[^\n]{0,40}(?:failed|not found|No such file)|\bResource (?P<resource>\w+) not found\.[^\n]{0,40}NLTK|Can't find model '(?P<model>[\w.-]+)'`, nil},
			{strong, `(?i)\b(?:run|execute|try) ['"` + "`" + `]?(?:npm (?:install|ci|i)|yarn(?: install)?|pnpm (?:install|i)|bun install|composer install|bundle install)\b`, notCall},
		},
		"playwright_browser_missing": {
			{strong, `(?i)\bfailed to install (?:the )?(?:browser|chrome|chromium|firefox)|\bnpx playwright install\b`, nil},
		},
		"wrong_package_name": {
			{strong, "(?i)failed to resolve `(?P<resolve>[^`\\n]+)`: not found|does not contain package \\S|\\bno release (?:was )?found\\b|release asset not found|\\bfailed to fetch \\w+: \\(?404", nil},
			{strong, `(?i)\b(?:install\w*|download\w*)\b[^\n]{0,100}\(?\b404\b\)?`, nil},
			{strong, `(?i)\bServer not found\b|No connection configuration found|Package not found`, func(x *exam, _ *match) bool {
				return strings.Contains(x.line, "smithery") || strings.Contains(x.line, " install ")
			}},
			{strong, `(?i)\bimage ['"` + "`" + `]?(?P<package>[\w.-]+/[\w./:@-]+?)['"` + "`" + `]? (?:was |could )?not (?:be )?found|short-name "(?P<name>[^"\n]+)" did not resolve|no versions available for (?P<versions>\S+)|cannot find package (?P<missing>\S+) in (?:the )?registry|['"` + "`" + `](?P<pypi>[\w.-]+)['"` + "`" + `] not found (?:in|on) (?:PyPI|npm)|\bnot found in the \w+ registry`, nil},
		},
		"stale_registry_login": {
			{certain, `error from registry: denied`, nil},
		},
		"invalid_api_key": {
			{strong, `(?i)\b(?:access |bearer |auth )?token\b[^\n]{0,30}\b(?:is )?(?:missing, invalid|invalid or expired|not valid)\b|\binvalid client secret\b|\bsignature mismatch\b|\baccount (?:has been |is |was )(?:suspended|disabled|locked|deactivated)|\bsubscription (?:is )?required\b|\bIP (?:address )?(?:\S+ )?is not (?:allowed|whitelisted|permitted)`, func(_ *exam, m *match) bool { return !parseComplaint(m) }},
			{strong, `(?i)\bjwt (?:audience|issuer|signature|malformed|algorithm)\b|\bJWKS?\b[^\n]{0,60}\b(?:unable|failed|error|not found|no matching)|\btoken validation failed|signature verification failed|\bJWT token is invalid|Improper token|\bLoginFailure\b|\bexceptions\.AuthError\b|\bsecurity_exception\b|\bClientError\.Security\b|\bCSRF\b[^\n]{0,20}\b(?:missing|incorrect|failed|invalid)|\bAUTH_KEY_UNREGISTERED\b|\bSMTPAuthenticationError\b|\bAUTHENTICATIONFAILED\b`, nil},
			{strong, `(?i)\bno bearer token\b|\bmissing (?:required )?authentication credentials?\b|\bmust be authenticated\b|\b(?:api key|token|account|user|client) (?:is |was )?not (?:allowed|permitted|entitled|enabled) (?:to|for)\b|\bdid you (?:add|set|provide|forget) (?:the |your |an? )?[\w ]{0,24}(?:token|key|credentials?)\b|\btoken is (?:correct|wrong|incorrect)\b`, func(_ *exam, m *match) bool { return !strings.Contains(m.said, "proxy token") }},
		},
		"env_not_set": {
			{certain, `(?i)\b(?:api key|token|credentials?|secret|password|url)s? (?:was |were |is |are )?not (?:found|set|present|available) in (?:the |your )?(?:environment|env\b|\.env)`, nil},
			{certain, `\b(?P<variable>[A-Z][A-Z0-9]*_[A-Z0-9_]+): (?:unbound variable|parameter (?:null or )?not set)`, nil},
			{strong, `(?i)\bset either [A-Z][A-Z0-9]*_|\bconfiguration value ['"]?(?P<setting>[\w:.]+)['"]? is missing|\b(?:host|url|token|key|password|user|database) is (?:undefined|null|None)\b`, nil},
			{strong, `(?i)\b['"` + "`" + `]?(?P<variable>\w+)['"` + "`" + `]? must be set in (?:the |your )?environment|\bis not a valid value for [A-Z][A-Z0-9]*_[A-Z0-9_]+|\bvalue is ['"]?(?:undefined|null|None)['"]?|could not resolve secret\b`, nil},
		},
		"port_taken_by_sibling": {
			{certain, `(?i)\bport (?P<port>\d{2,5}) (?:is |was )?(?:still|currently|now) (?:in use|taken|occupied|bound)|\banother (?:program|process|application|server|instance) is using (?:it|this port|that port|port)|\bbind[^\n]{0,20}\b10048\b`, nil},
		},
		"companion_app_not_running": {
			{strong, `(?i)\bno running (?:[A-Z]\w+ )?(?:instance|editor|process|app|application|browser|session)s?\b|\bno (?:\w+ )?(?:device|emulator|simulator)s? (?:detected|available|found|connected)|\bcode ?= ?Unavailable\b|StatusCode\.UNAVAILABLE|failed to connect to all addresses`, nil},
			{likely, `(?i)\bwaiting for (?:a )?connection from (?:the )?[\w ]{0,20}(?:extension|plugin|editor|add-?on|browser)`, nil},
			{strong, `(?i)\b(?:could not|couldn['’]t|cannot|can['’]t|unable to|failed to) connect to (?:the )?MCP Proxy Server\b`, nil},
		},
		"wrong_endpoint_path": {
			{strong, `(?i)\b(?:text/html|html(?: page)?|a web ?page)\b[^\n]{0,20}\binstead of\b|\bexpected JSON\b[^\n]{0,20}\b(?:got|received|but)\b[^\n]{0,12}\bHTML\b|\b(?:the )?page could not be found\b|websocket: bad handshake`, nil},
			// Apache, Fastify, Spring, Python's http.server
			{strong, `(?i)The requested URL (?:\S+ )?was not found on this server|\bRoute (?:GET|POST):\S* not found|\bNo static resource \S+|\bNo (?:handler|mapping|endpoint) (?:found )?for (?:GET|POST) /|Unsupported method \('(?:POST|GET)'\)`, nil},
		},
		"sse_vs_streamable": {
			{strong, `(?i)\bdoes not implement (?:the )?(?:streamable|SSE)\b|\bendpoint event\b[^\n]{0,20}\b(?:not received|missing)|\b(?:missing|no|without|waiting for) (?:the )?endpoint event\b|\b(?:GET|POST) (?:requests? )?(?:is |are )?not (?:supported|allowed)\b|\bplease use (?:POST|GET)\b`, nil},
			{strong, `(?i)\bexpected (?:an? )?(?:SSE|event[- ]stream)\b[^\n]{0,30}\b(?:returned|got|received)|\bwait for the message endpoint\b|\bSSE connection (?:was )?not established\b`, nil},
		},
		"server_bug_crash": {
			{guess, `the worker has exited|too many values to unpack|(?i:process (?:has )?(?:died|crashed) unexpectedly)`, nil},
			{guess, `Abort trap: \d|\bterminate called after throwing\b|\bgoroutine \d+ \[running\]|(?i:\bthread\b[^\n]{0,40}\bpanicked\b)|Fatal error: Uncaught|Unhandled 'error' event`, nil},
		},
		"stdout_log_pollution": {
			{guess, `^\s*(?:╭────|┌────|╔════)`, func(x *exam, _ *match) bool { // there is only a banner
				return !x.container() && !x.remote() && !strings.Contains(strings.ToLower(x.text), "error")
			}},
			{strong, `(?i)\berror parsing JSON-?RPC\b|^\s*(?:\w*Error: )?Unexpected end of JSON input|received (?:an )?invalid message: [A-Z][a-z]`, func(x *exam, m *match) bool { return !aboutConfig(x, m) && !x.remote() }},
			{strong, `(?i)\bnon-JSON (?:output|line|text|data)\b|\b(?:unable to|could not|cannot|failed to) parse (?:server )?(?:JSON|output)[^\n]{0,20}: (?P<text>[A-Za-z\[(][^\n]{3,80})|\bJSON\.parse (?:error|failed) on (?:line|output|chunk)\b`, func(x *exam, m *match) bool {
				return !aboutConfig(x, m) && !x.remote() && !html.MatchString(m.said)
			}},
		},
		"session_expired_no_reinit": {
			{strong, `(?i)\bsession(?: id)? mismatch\b|\bfor (?:a )?closed session\b|\bsession (?:has )?ended\b`, notBrowserSession},
		},
		"access_denied": {
			{likely, `(?i)\b(?:contains malicious content|blocked by (?:your |the )?(?:[\w'’]+ ){0,2}(?:antivirus|security|administrator|policy|firewall|defender|sandbox)|quarantined|code signature[^\n]{0,40}(?:not valid|invalid))\b`, nil},
			{likely, `(?i)\bsudo: a (?:password|terminal) is required|\bsandbox\w*\b[^\n]{0,60}\b(?:not permitted|denied|deny)\b|\b(?:outside|not (?:with)?in)(?: of)? (?:the |any )?(?:allowed|permitted) (?:director|folder|path|root)|\baccess to (?:this|that|the) (?:folder|directory|path|file)\b[^\n]{0,20}\b(?:not allowed|denied|forbidden)`, nil},
		},
		"slow_tool_call": {
			{guess, `(?i)\btook too long to (?:respond|answer|complete)|\bexceeded (?:the )?time limit\b|\b(?:error calling tool|tool call failed|"tool_name")[^\n]{0,160}(?:-32001|timed out)`, nil},
		},
		"script_missing": {
			{strong, `(?i)\b(?:could not|couldn['’]t|cannot|can['’]t) find (?:the )?entry file\b`, nil},
			{strong, `uv trampoline failed|(?i)\b(?:could not|cannot|can['’]t|unable to|failed to) (?:find|locate|open) (?:the )?(?:server )?(?:script|entry ?point|main file)\b[^\n]{0,20}?(?P<path>[/\\~\w][^\n]*)?`, nil},
		},
		"wrong_directory_argument": {
			{strong, `(?i)\bnot a valid [\w ]{0,16}(?:vault|project|workspace|repository|directory|folder|database)\b`, nil},
			{strong, "(?i)\\bno `?(?P<file>pyproject\\.toml|Cargo\\.toml|package\\.json|go\\.mod|composer\\.json|Gemfile)`? found|\\b(?:project|workspace|repository) root (?:was )?not found|no such project\\b", nil},
		},
		"data_file_missing": {
			{strong, `(?i)\b(?:failed to|could not|cannot|unable to|error) (?:read|open|load|reading|opening|loading)[^\n]{0,60}(?:No such file or directory|cannot find the (?:file|path))`, nil},
			{likely, `java\.io\.FileNotFoundException: (?P<path>[^\n(]+)|NoSuchFileException: (?P<file>[^\n]+)|no configuration has been provided, try setting KUBERNETES_MASTER|\bkubeconfig\b[^\n]{0,30}(?:not found|does not exist|missing)`, nil},
		},
		"proxy_env_breaks": {
			{certain, `(?i)HTTP code 407 from proxy|\bconnect(?:ing|ion)? to (?:the )?(?:upstream )?proxy (?:https?|socks\d?)://`, nil},
		},
		"tls_handshake_failed": {
			{certain, `Unsupported or unrecognized SSL message|NSURLErrorDomain Code=-12\d\d|\bSSLException\b`, nil},
		},
		"hostname_wrong": {
			{strong, `(?i)remote name could not be resolved|NSURLErrorDomain Code=-1003`, notRegistry},
		},
		"git_fetch_failed": {
			{strong, `error: RPC failed; |early EOF|GnuTLS recv error`, nil},
		},
		"registry_unreachable": {
			{strong, `npm (?:ERR!|error) (?:code )?ERR_SOCKET_TIMEOUT|(?i)request canceled while waiting for connection`, nil},
		},
		"schema_not_parseable": {
			{certain, `(?i)\bschema validation failed for (?:tool|function)\b|\bshould be non-empty for OBJECT type\b`, nil},
		},
		"args_json_string_for_object": {
			{strong, `(?i)\bparameter ['"` + "`" + `]?(?P<parameter>[a-z]\w*)['"` + "`" + `]? is required\b|\b(?:failed to|could not|cannot|unable to) parse (?:the )?tool(?:[- ]call)? (?:arguments|input|parameters)|\bcalling tool\b[^\n]{0,80}\bmust be\b`, nil},
		},
		"node_heap_oom": {
			{certain, `ERR_WORKER_OUT_OF_MEMORY|reaching memory limit`, nil},
		},
		"toolchain_too_old": {
			{strong, `(?i)\b(?:node(?:\.js)?|python|java|jdk|ruby|php|go|macos|windows|ios) (?:version )?v?\d[\d.]* (?:or (?:later|newer|higher|above|greater) )?(?:is )?(?:not supported|required|no longer supported)\b|\bno compatible \.NET\b|\bcan['’]t run on your PC\b|\bplatform is not supported\b|\bno Python interpreter found (?:matching|for)\b`, nil},
			{certain, `(?i)\bmodule requires Go \d|Your PHP version \([^)\n]+\) does not satisfy|\bmatch statement\b`, nil},
		},
		"wrong_cpu_arch": {
			{certain, `not a valid application for this OS platform|rosetta error|(?i)illegal hardware instruction|bad CPU type in executable|\bunsupported (?:platform|architecture|os|operating system):? \w+`, nil},
		},
		"stdin_not_connected": {
			{strong, `could not infer client capabilities`, nil},
		},
		"oauth_not_completed": {
			{strong, `(?i)\b(?:failed|unable|could not|cannot) (?:to )?(?:exchange|refresh|obtain|acquire|get|fetch|retrieve) (?:an? |the )?(?:authorization code|access token|refresh token|token|oauth token)\b|\bconsent required\b|\bauthentication needed\b|\bTo sign in, use a web browser\b|\brequires OAuth\b|\bresource metadata mismatch\b|\bopen the following URL in your browser\b`, nil},
		},
		"token_scope_insufficient": {
			{certain, `(?i)\binsufficient rights\b|\b(?:user|account|principal|token) lacks (?:the )?(?:role|permission|right|scope)`, nil},
		},
	}
}
