package clientconfig

import (
	"time"

	ref "github.com/gauze-mcp/gauze/internal/clientconfig/reference"
)

// The facts about each client as of November 2026, one literal each. Certain means that the program
// was run, or that its source or its vendor's documentation was read. Doubt lists what is
// unconfirmed.

const untrusted = "in an untrusted directory, the client starts no servers, not even the user's own"

// Directories that differ between systems.
const (
	configDir   = "${XDG_CONFIG_HOME:-~/.config}"
	supportDir  = "~/Library/Application Support"
	roamingDir  = "${APPDATA:-~/AppData/Roaming}"
	localDir    = "${LOCALAPPDATA:-~/AppData/Local}"
	programData = "${ProgramData:-C:/ProgramData}"
)

var (
	literal      = ref.Dialect{Known: true}
	likeVSCode   = ref.Dialect{Known: true, Forms: ref.Env | ref.Folder, In: ref.Everywhere}
	likeShell    = ref.Dialect{Known: true, Forms: ref.Bare | ref.Braces, In: ref.Everywhere, Unset: ref.Empty}
	likeOpencode = ref.Dialect{Known: true, Forms: ref.Curly | ref.CurlyFile, In: ref.Everywhere, Unset: ref.Empty}

	geminiFields = usual(Fields{
		OtherURLs: []string{"httpUrl"}, Cwd: "cwd",
		Type: "type", Stdio: []string{"stdio"}, HTTP: []string{"http"}, SSE: []string{"sse"},
		Timeouts: []Timeout{{Field: "timeout", Unit: time.Millisecond, Default: 10 * time.Minute, Text: true}},
		Login:    LoginFields{Field: "oauth", ClientID: "clientId", Secret: "clientSecret", Scopes: "scopes", Redirect: "redirectUri", Unneeded: []string{"enabled"}},
		Also:     []string{"trust", "includeTools", "excludeTools", "description", "oauth", "authProviderType", "targetAudience", "targetServiceAccount", "tcp"},
	})
	opencodeFields = usual(Fields{
		Argv: true, Env: "environment", Cwd: "cwd",
		Type: "type", Stdio: []string{"local"}, HTTP: []string{"remote"}, TypeFor: ForAll, BareURL: Skips,
		Timeouts: []Timeout{{Field: "timeout", Unit: time.Millisecond, Default: 30 * time.Second, Start: true}}, // 5 s in older versions
		Enabled:  "enabled", Disabled: "disabled", RejectsFile: true,
		Login: LoginFields{Field: "oauth", ClientID: "clientId", Secret: "clientSecret", Scopes: "scope", Redirect: "redirectUri", Callback: "http://127.0.0.1:19876/mcp/oauth/callback"},
		Also:  []string{"oauth", "protocol", "codemode"},
	})
	codexFields = usual(Fields{
		Cwd: "cwd", Headers: "http_headers", EnvNames: "env_vars", BearerEnv: "bearer_token_env_var", EnvHeaders: "env_http_headers",
		BothRefused: true, NoSSE: true, Enabled: "enabled", Exact: true, RejectsFile: true, Login: LoginFields{Scopes: "scopes"},
		Timeouts: []Timeout{{Field: "tool_timeout_sec", Unit: time.Second}, {Field: "startup_timeout_sec", Unit: time.Second, Start: true},
			{Field: "startup_timeout_ms", Unit: time.Millisecond, Start: true}},
		Also: []string{"http_headers_helper", "oauth", "oauth_resource", "scopes", "auth", "required", "enabled_tools", "disabled_tools", "default_tools_approval_mode",
			"tools", "supports_parallel_tool_calls", "omit_tools_from", "environment_id"},
	})
	opencodeKeys = []way{{"mcp", "servers"}, {"mcp"}} // the newer and the older form of the file

	// JSON blocks use Claude's format.
	continueBlock = Fields{Cwd: "cwd", Type: "type", Stdio: []string{"stdio"}, HTTP: []string{"streamable-http", "http"}, SSE: []string{"sse"}, RejectsFile: true}

	kiloOld = Fields{Cwd: "cwd", Type: "type", Stdio: []string{"stdio"}, HTTP: []string{"streamable-http"}, SSE: []string{"sse"},
		Timeouts: clineTimeout, Disabled: "disabled", Also: []string{"alwaysAllow", "watchPaths", "disabledTools"}}

	clineTimeout = []Timeout{{Field: "timeout", Unit: time.Second, Default: time.Minute, Min: time.Second, Max: time.Hour}}
)

var clients = []*Client{
	{
		ID: "claude-desktop", Name: "Claude Desktop", Certain: true,
		Doubt: "the Linux builds are unofficial; its handling of URLs is known only from its documentation",
		Places: []Place{
			// Windows gives the packaged app its own copy of %APPDATA% (copy on write).
			systems(User, "", "", localDir+"/Packages/Claude_*/LocalCache/Roaming/Claude/claude_desktop_config.json"),
			unless(app(User, "Claude/claude_desktop_config.json"), `Claude Desktop is installed as a Windows package and reads the file under AppData\Local\Packages instead`, localDir+"/AnthropicClaude/claude.exe"),
		},
		Fields:   usual(Fields{NoRemote: true}),
		Comments: No, Commas: No, Dialect: literal,
		Inherits: CommonOnly, GUIPath: true,
		Reload: "quit the app completely and start it again",
	},
	{
		ID: "claude-code", Name: "Claude Code", Certain: true, Doubt: "the managed file was not tested",
		Sign: "~/.claude",
		Places: []Place{
			noted(everywhere(Local, "${CLAUDE_CONFIG_DIR:-~}/.claude.json", way{"projects", inProject, "mcpServers"}), "also contains the state of running sessions, so gauze replaces the whole file, and only if it has not changed in the meantime"),
			everywhere(Project, "./.mcp.json"),
			noted(everywhere(User, "${CLAUDE_CONFIG_DIR:-~}/.claude.json"), "also contains the state of running sessions, so gauze replaces the whole file, and only if it has not changed in the meantime"),
			systems(Managed, "/etc/claude-code/managed-mcp.json", "/Library/Application Support/ClaudeCode/managed-mcp.json", "C:/Program Files/ClaudeCode/managed-mcp.json"),
		},
		Precedence: []Scope{Managed, Local, Project, User},
		Fields: usual(Fields{
			Type: "type", Stdio: []string{"stdio"}, HTTP: []string{"http", "streamable-http"}, SSE: []string{"sse"}, TypeFor: ForURL, BareURL: Skips,
			Timeouts: []Timeout{{Field: "timeout", Unit: time.Millisecond}},
			Login:    LoginFields{Field: "oauth", ClientID: "clientId", Scopes: "scopes", Port: "callbackPort"},
			Also:     []string{"alwaysLoad", "role", "headersHelper", "oauth", "request_timeout_ms", "tools", "toolPermissions"},
		}),
		Comments: No, Commas: No, Mark: Yes,
		Dialect:  ref.Dialect{Known: true, Forms: ref.Braces | ref.Default, In: ref.Command | ref.Args | ref.Environment | ref.URL | ref.Headers, Unset: ref.Left},
		Approves: "each server in the project's .mcp.json, once, in the first session",
		CmdShim:  true,
		Reload:   "start a new session, or reconnect with /mcp",
	},
	{
		ID: "cursor", Name: "Cursor", Certain: true, Doubt: "which predefined variables it expands, and whether it accepts comments",
		Places:  []Place{everywhere(User, "~/.cursor/mcp.json"), everywhere(Project, "./.cursor/mcp.json")},
		Fields:  usual(Fields{Type: "type", Stdio: []string{"stdio"}, HTTP: []string{"http"}, SSE: []string{"sse"}, Also: []string{"envFile", "auth"}}),
		Dialect: ref.Dialect{Known: true, Forms: ref.Env | ref.Folder, In: ref.Command | ref.Args | ref.Environment | ref.URL | ref.Headers},
		Reload:  "no restart needed: it reloads the file when you save it",
	},
	{
		ID: "vscode", Name: "VS Code", Certain: true,
		Places: []Place{
			app(User, "{Code,Code - Insiders,VSCodium}/User/mcp.json", way{"servers"}),
			app("profile", "{Code,Code - Insiders,VSCodium}/User/profiles/*/mcp.json", way{"servers"}),
			noted(everywhere(Workspace, "./.vscode/mcp.json", way{"servers"}), "VS Code's Agent Host does not read this file; it reads .mcp.json and the Copilot CLI's file"),
			systems("remote-server", "~/.vscode-server/data/User/mcp.json", "", "", way{"servers"}),
			borrowed(everywhere("agent-host", "./.mcp.json")), borrowed(everywhere("agent-host", "~/.copilot/mcp-config.json")),
			old(app(Legacy, "{Code,Code - Insiders,VSCodium}/User/settings.json", way{"mcp", "servers"}, way{"mcp.servers"}), "VS Code now reads mcp.json; only old versions read the servers in settings.json"),
		},
		Fields: usual(Fields{
			Cwd: "cwd", Type: "type", Stdio: []string{"stdio"}, HTTP: []string{"http"}, SSE: []string{"sse"}, TypeFor: ForURL,
			Also: []string{"envFile", "dev", "sandboxEnabled", "oauth", "gallery", "version"},
		}),
		Comments: Yes, Commas: Yes,
		Dialect: ref.Dialect{Known: true, Forms: ref.Env | ref.Folder | ref.Input, In: ref.Everywhere, Unset: ref.Empty},
		Reload:  "start or restart the server with the link above its entry",
	},
	{
		ID: "windsurf", Name: "Windsurf (now Devin Desktop)", Status: Renamed, Message: "Windsurf was renamed Devin Desktop in June 2026 and uses new files",
		Doubt: "whether it accepts comments",
		Places: []Place{
			systems(User, configDir+"/devin/mcp_config.json", "~/.config/devin/mcp_config.json", roamingDir+"/devin/mcp_config.json"),
			everywhere(Project, "./.devin/mcp_config.json"),
			private(everywhere("project-local", "./.devin/mcp_config.local.json")),
			with(everywhere(Legacy, "~/.codeium/windsurf/mcp_config.json"), Fields{URL: "serverUrl", Disabled: "disabled", Also: []string{"disabledTools"}}),
			with(everywhere("jetbrains-plugin", "~/.codeium/mcp_config.json"), Fields{URL: "serverUrl", Disabled: "disabled", Also: []string{"disabledTools"}}),
		},
		Fields:  usual(Fields{OtherURLs: []string{"serverUrl"}, Disabled: "disabled", Also: []string{"disabledTools"}}),
		Dialect: ref.Dialect{Known: true, Forms: ref.Env | ref.File, In: ref.Command | ref.Args | ref.Environment | ref.URL | ref.Headers},
		Reload:  "click Refresh in the MCP panel",
	},
	{
		ID: "zed", Name: "Zed", Certain: true,
		Places: []Place{
			systems(User, "${FLATPAK_XDG_CONFIG_HOME:-"+configDir+"}/zed/settings.json", "~/.config/zed/settings.json", roamingDir+"/Zed/settings.json", way{"context_servers"}),
			everywhere(Project, "./.zed/settings.json", way{"context_servers"}),
			old(systems(Legacy, "", supportDir+"/Zed/settings.json", "", way{"context_servers"}), "Zed does not read this file, although some tools write it; it reads ~/.config/zed/settings.json"),
		},
		Fields: usual(Fields{
			Timeouts: []Timeout{{Field: "timeout", Unit: time.Second, Default: time.Minute}}, Enabled: "enabled",
			Also: []string{"remote", "oauth", "settings", "source"},
		}),
		Comments: Yes, Commas: Yes, Dialect: literal,
		Reload: "no restart needed: it reloads the file when you save it",
	},
	{
		ID: "gemini-cli", Name: "Gemini CLI", Certain: true, Status: Superseded,
		Message: "Gemini CLI was discontinued for free and personal accounts in June 2026 (replaced by Antigravity); it still works with an API key or a company account",
		Places: []Place{noted(everywhere(User, "~/.gemini/settings.json"), untrusted), noted(everywhere(Project, "./.gemini/settings.json"), untrusted),
			systems(System, "/etc/gemini-cli/settings.json", "/Library/Application Support/GeminiCli/settings.json", programData+"/gemini-cli/settings.json")},
		Fields:   geminiFields,
		Comments: Yes, Commas: No, Mark: No,
		Dialect:  ref.Dialect{Known: true, Forms: ref.Bare | ref.Braces, Windows: ref.Percent, In: ref.Everywhere, Unset: ref.Empty},
		Inherits: NoSecrets,
		Reload:   "restart it, or type /mcp refresh",
	},
	{
		ID: "codex", Name: "Codex", Certain: true,
		Places: []Place{
			everywhere(User, "${CODEX_HOME:-~/.codex}/config.toml", way{"mcp_servers"}),
			noted(everywhere(Project, "./.codex/config.toml", way{"mcp_servers"}), "only in trusted projects"),
		},
		Fields: codexFields, Comments: Yes, Dialect: literal, Inherits: CommonOnly,
		Reload: "start a new session",
	},
	{
		ID: "goose", Name: "goose", Certain: true,
		Places: []Place{
			systems(User, configDir+"/goose/config.yaml", "~/.config/goose/config.yaml", roamingDir+"/Block/goose/config/config.yaml", way{"extensions"}),
			everywhere(User, "$GOOSE_PATH_ROOT/config/config.yaml", way{"extensions"}),
			with(everywhere("plugin", "./.agents/plugins/*/.mcp.json"), Fields{NoRemote: true}),
		},
		Fields: usual(Fields{
			Command: "cmd", Env: "envs", URL: "uri", EnvNames: "env_keys",
			Type: "type", Stdio: []string{"stdio"}, HTTP: []string{"streamable_http"}, SSE: []string{"sse"}, TypeFor: ForAll, BareURL: Skips,
			Timeouts: []Timeout{{Field: "timeout", Unit: time.Second, Default: 5 * time.Minute}}, Enabled: "enabled",
			Must: []string{"name"}, Also: []string{"bundled", "description", "available_tools", "display_name", "code", "dependencies", "instructions", "tools"},
		}),
		Comments: Yes, // in YAML; goose drops them when it writes the file
		Dialect:  ref.Dialect{Known: true, Forms: ref.Braces, In: ref.Headers},
		Reload:   "start a new session",
	},
	{
		ID: "cline", Name: "Cline", Certain: true,
		Places: []Place{
			everywhere(User, "${CLINE_MCP_SETTINGS_PATH:-${CLINE_DATA_DIR:-${CLINE_DIR:-~/.cline}/data}/settings/cline_mcp_settings.json}"),
			old(app(Legacy, "{Code,Code - Insiders,VSCodium}/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"), "Cline migrated this file and now reads ~/.cline/data/settings/cline_mcp_settings.json"),
		},
		Fields: usual(Fields{
			Cwd: "cwd", Nest: "transport", Type: "type", Stdio: []string{"stdio"}, HTTP: []string{"streamableHttp"}, SSE: []string{"sse"}, TypeFor: ForURL, BareURL: AssumesSSE,
			Timeouts: clineTimeout, Disabled: "disabled", Also: []string{"autoApprove", "remoteConfigured", "metadata", "oauth", "oauthClient", "transportType"},
		}),
		Comments: No, Commas: No,
		Dialect: ref.Dialect{Known: true, Forms: ref.Env, In: ref.Everywhere},
		Doubt:   "only its VS Code extension is known to expand ${env:NAME}",
		Reload:  "no restart needed: it watches the file",
	},
	{
		ID: "roo-code", Name: "Roo Code", Certain: true, Status: Ended, Message: "Roo Code was discontinued in May 2026; its developers recommend Cline",
		Places: []Place{
			app(User, "{Code,Code - Insiders,VSCodium}/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"),
			everywhere(Project, "./.roo/mcp.json"),
		},
		Fields: usual(Fields{
			Cwd: "cwd", Type: "type", Stdio: []string{"stdio"}, HTTP: []string{"streamable-http"}, SSE: []string{"sse"}, TypeFor: ForURL, BareURL: Skips, BothRefused: true,
			Timeouts: clineTimeout, Disabled: "disabled", Also: []string{"alwaysAllow", "watchPaths", "disabledTools"},
		}),
		Comments: No, Commas: No,
		Dialect: likeVSCode,
		Reload:  "no restart needed: it watches the file",
	},
	{
		ID: "continue", Name: "Continue", Certain: true, Status: Ended, Message: "Continue has been unmaintained since June 2026; existing installations still work",
		Places: []Place{
			listed(everywhere(User, "~/.continue/config.yaml")),
			noted(listed(everywhere("user-blocks", "~/.continue/mcpServers/*.{yaml,yml}")), "a block needs name, version and schema: v1"),
			with(everywhere("user-blocks", "~/.continue/mcpServers/*.json"), continueBlock),
			noted(listed(everywhere("project-blocks", "./.continue/mcpServers/*.{yaml,yml}")), "a block needs name, version and schema: v1"),
			with(everywhere("project-blocks", "./.continue/mcpServers/*.json"), continueBlock),
		},
		Fields: usual(Fields{
			Name: "name", Cwd: "cwd", Headers: "requestOptions/headers",
			Type: "type", Stdio: []string{"stdio"}, HTTP: []string{"streamable-http"}, SSE: []string{"sse"},
			Timeouts: []Timeout{{Field: "connectionTimeout", Unit: time.Millisecond, Start: true}}, Also: []string{"apiKey", "faviconUrl", "sourceFile", "serverName"},
		}),
		Comments: Yes, Commas: Yes,
		Dialect: ref.Dialect{Known: true, Forms: ref.Secret, In: ref.Everywhere},
		Reload:  "reload the configuration",
	},
	{
		ID: "lm-studio", Name: "LM Studio", Certain: true, Doubt: "its documentation says that it follows Cursor's notation, but not whether it expands references",
		Places: []Place{everywhere(User, "~/.lmstudio/mcp.json"),
			old(everywhere(Legacy, "~/.cache/lm-studio/mcp.json"), "newer versions of LM Studio read ~/.lmstudio/mcp.json")},
		Fields: usual(Fields{}),
		Reload: "save the file in its own editor",
	},
	{
		ID: "junie", Name: "JetBrains Junie", Doubt: "the older plugin did not support URLs",
		Places: []Place{everywhere(User, "~/.junie/mcp/mcp.json"), everywhere(Project, "./.junie/mcp/mcp.json")},
		Fields: usual(Fields{}),
		Reload: "apply the settings",
	},
	{
		ID: "jetbrains-ai", Name: "JetBrains AI Assistant", Doubt: "the IDE's registry can specify different files",
		Places: []Place{everywhere(User, "~/.ai/mcp/mcp.json"), everywhere(Project, "./.ai/mcp/mcp.json"), everywhere("air-local", "./.air/mcp.json"),
			borrowed(everywhere("air-workspace", "./.mcp.json"))},
		Fields: usual(Fields{}),
		Reload: "apply the settings",
	},
	{
		ID: "amazon-q", Name: "Amazon Q Developer CLI", Certain: true, Status: Superseded, Message: "Amazon Q Developer CLI receives only security fixes; it was replaced by the Kiro CLI",
		Places: []Place{everywhere(User, "~/.aws/amazonq/mcp.json"), everywhere(Workspace, "./.amazonq/mcp.json"),
			everywhere(Agent, "~/.aws/amazonq/cli-agents/*.json")},
		Fields: usual(Fields{
			Type: "type", Stdio: []string{"stdio"}, HTTP: []string{"http"}, TypeFor: ForURL, BareURL: Skips,
			Timeouts: []Timeout{{Field: "timeout", Unit: time.Millisecond, Default: 2 * time.Minute}}, Disabled: "disabled", Also: []string{"oauth_scopes", "oauth", "disabledTools"},
		}),
		Comments: No, Commas: No,
		Dialect: ref.Dialect{Known: true, Forms: ref.Env, In: ref.Everywhere},
		Reload:  "start a new session",
	},
	{
		ID: "kiro", Name: "Kiro", Certain: true,
		Places: []Place{everywhere(User, "~/.kiro/settings/mcp.json"), everywhere(Workspace, "./.kiro/settings/mcp.json"), everywhere(Agent, "~/.kiro/agents/*.json")},
		Fields: usual(Fields{
			Timeouts: []Timeout{{Field: "timeout", Unit: time.Millisecond}}, Disabled: "disabled", Also: []string{"autoApprove", "disabledTools", "type", "oauth"},
		}),
		Dialect:  ref.Dialect{Known: true, Forms: ref.Braces, In: ref.Everywhere, Unset: ref.Left},
		Approves: "each variable that an entry refers to, in the IDE's settings (Approved environment variables)",
		Reload:   "no restart needed: it reloads the file when you save it",
	},
	{
		ID: "opencode", Name: "opencode", Certain: true,
		Places: []Place{
			everywhere(User, "~/.config/opencode/opencode.json{,c}", opencodeKeys...),
			up(everywhere(Project, "./{,.opencode/}opencode.json{,c}", opencodeKeys...)),
			everywhere(Custom, "$OPENCODE_CONFIG", opencodeKeys...),
			everywhere(Custom, "$OPENCODE_CONFIG_DIR/opencode.json{,c}", opencodeKeys...),
			systems(Managed, "/etc/opencode/opencode.json{,c}", "/Library/Application Support/opencode/opencode.json{,c}", programData+"/opencode/opencode.json{,c}", opencodeKeys...),
		},
		Precedence: []Scope{Managed, Project, Custom, User},
		Doubt:      "which file takes precedence; $OPENCODE_CONFIG_CONTENT contains the configuration itself",
		Fields:     opencodeFields, Comments: Yes, Commas: Yes, Dialect: likeOpencode,
		Reload: "restart the client",
	},
	{
		ID: "copilot-cli", Name: "GitHub Copilot CLI", Certain: true,
		Places: []Place{everywhere(User, "~/.copilot/mcp-config.json"),
			up(borrowed(noted(everywhere(Project, "./.mcp.json", way{"mcpServers"}, way{}), "silently skipped in untrusted directories"))),
			up(noted(everywhere("project-shared", "./.github/mcp.json", way{"mcpServers"}, way{}), "silently skipped in untrusted directories")),
		},
		Precedence: []Scope{Project, "project-shared", User},
		Doubt:      "whether the project takes precedence over the user; its documentation says that servers receive only PATH, but version 1.0.102 passes all variables",
		Fields: usual(Fields{
			Cwd: "cwd", Type: "type", Stdio: []string{"local", "stdio"}, HTTP: []string{"http", "streamable-http"}, SSE: []string{"sse"}, TypeFor: ForURL, BareURL: AssumesHTTP,
			Timeouts: []Timeout{{Field: "timeout", Unit: time.Millisecond}}, Must: []string{"tools"},
			Also: []string{"deferTools", "disableToolCache", "oauthClientId", "oauthPublicClient", "oauthGrantType", "oidc", "filterMapping"},
		}),
		Comments: Yes, Commas: Yes,
		Dialect: ref.Dialect{Known: true, Forms: ref.Bare | ref.Braces | ref.Default, In: ref.Environment | ref.Headers},
		Reload:  "type /mcp reload",
	},
	{
		ID: "warp", Name: "Warp", Doubt: "references are documented only for its cloud agents",
		Message: "Warp does not keep servers added under Settings > Agents > MCP servers in a file",
		Places: []Place{everywhere(User, "~/.warp/.mcp.json"), everywhere(Project, "./.warp/.mcp.json"),
			borrowed(everywhere("imports", "~/.claude.json")), borrowed(everywhere("imports", "./.mcp.json")),
			borrowed(with(everywhere("imports", "~/.codex/config.toml", way{"mcp_servers"}), codexFields))},
		Fields: usual(Fields{Cwd: "working_directory", Must: []string{"args"}, Also: []string{"warp_id"}}),
		Reload: "restart the server in Settings",
	},
	{
		ID: "trae", Name: "TRAE",
		Places: []Place{
			app(User, "{Trae,Trae CN}/User/mcp.json"),
			noted(everywhere(Project, "./.trae/mcp.json"), "requires Enable Project MCP in the settings"),
		},
		Fields: usual(Fields{Also: []string{"fromGalleryId"}}),
		Reload: "restart the server in Settings",
	},
	{
		ID: "antigravity", Name: "Google Antigravity", Doubt: "comments are supported only since CLI 1.1.24",
		Places: []Place{everywhere(User, "~/.gemini/config/mcp_config.json"), everywhere(Project, "./.agents/mcp_config.json"),
			old(everywhere(Legacy, "~/.gemini/antigravity/mcp_config.json"), "Antigravity 2.0 reads ~/.gemini/config/mcp_config.json"),
			old(everywhere(Legacy, "~/.gemini/antigravity-cli/mcp_config.json"), "the CLI reads ~/.gemini/config/mcp_config.json, like the IDE")},
		Fields:   usual(Fields{URL: "serverUrl", Disabled: "disabled", Also: []string{"disabledTools"}}),
		Comments: Yes, Commas: Yes,
		Reload: "click Refresh in the MCP panel",
	},
	{
		ID: "5ire", Name: "5ire", Status: Superseded, Message: "newer versions of 5ire keep servers in a database; add them in the app",
		Places:   []Place{old(app(Legacy, "5ire/mcp.json"), "newer versions of 5ire imported this file into a database; changes here have no effect")},
		Fields:   usual(Fields{Enabled: "isActive", Type: "type", Stdio: []string{"local"}, HTTP: []string{"remote"}, Also: []string{"key", "name", "description", "approvalPolicy"}}),
		Comments: No, Commas: No, Dialect: literal,
		Reload: "restart the client",
	},
	{
		ID: "cherry-studio", Name: "Cherry Studio", Certain: true, Message: "Cherry Studio keeps servers in a database; import JSON under Settings > MCP",
		Fields: usual(Fields{
			OtherURLs: []string{"baseUrl"}, Type: "type", Stdio: []string{"stdio"}, HTTP: []string{"streamableHttp"}, SSE: []string{"sse"},
			Timeouts: []Timeout{{Field: "timeout", Unit: time.Second, Default: time.Minute}}, Enabled: "isActive", Exact: true, RejectsFile: true,
			Also: []string{"registryUrl", "longRunning", "disabledTools", "disabledAutoApproveTools", "name", "description"},
		}),
		Comments: No, Commas: No, Dialect: literal,
		Reload: "import the servers again",
	},
	{
		ID: "qwen-code", Name: "Qwen Code", Certain: true, Doubt: "forked from Gemini CLI and assumed to behave like it",
		Places: []Place{everywhere(User, "~/.qwen/settings.json"), everywhere(Project, "./.qwen/settings.json")},
		Fields: geminiFields, Comments: Yes, Dialect: likeShell,
		Reload: "restart the client",
	},
	{
		ID: "crush", Name: "Crush", Doubt: "support for references ($NAME and $(command)) is unconfirmed",
		Places: []Place{
			everywhere(User, "${CRUSH_GLOBAL_CONFIG:-"+configDir+"/crush}/crush.json", way{"mcp"}),
			noted(systems("data", "", "", localDir+"/crush/crush.json", way{"mcp"}), "Crush manages this file itself"),
			everywhere(Project, "./{crush,.crush}.json", way{"mcp"}),
		},
		Fields: usual(Fields{
			Type: "type", Stdio: []string{"stdio"}, HTTP: []string{"http"}, SSE: []string{"sse"}, TypeFor: ForAll, BareURL: Skips,
			Timeouts: []Timeout{{Field: "timeout", Unit: time.Second}}, Disabled: "disabled", Also: []string{"disabled_tools"},
		}),
		Reload: "restart the client",
	},
	{
		ID: "amp", Name: "Amp", Doubt: "support for references (${NAME}) is unconfirmed",
		Places: []Place{
			systems(User, configDir+"/amp/settings.json", "~/.config/amp/settings.json", roamingDir+"/amp/settings.json", way{"amp.mcpServers"}),
			everywhere(Project, "./.amp/settings.json", way{"amp.mcpServers"}),
		},
		Fields: usual(Fields{}), Comments: Yes,
		Reload: "restart the client",
	},
	{
		ID: "factory-droid", Name: "Factory Droid",
		Places: []Place{everywhere(User, "~/.factory/mcp.json"), everywhere(Project, "./.factory/mcp.json")},
		Fields: usual(Fields{
			Type: "type", Stdio: []string{"stdio"}, HTTP: []string{"http"}, SSE: []string{"sse"}, TypeFor: ForURL, BareURL: Skips, Disabled: "disabled",
		}),
		Reload: "start a new session",
	},
	{
		ID: "mistral-vibe", Name: "Mistral Vibe",
		Places: []Place{listed(everywhere(User, "~/.vibe/config.toml", way{"mcp_servers"})), listed(everywhere(Project, "./.vibe/config.toml", way{"mcp_servers"}))},
		Fields: usual(Fields{
			Name: "name", Type: "transport", Stdio: []string{"stdio"}, HTTP: []string{"streamable-http", "http"}, TypeFor: ForAll, BareURL: Skips, Must: []string{"name"},
		}),
		Comments: Yes,
		Reload:   "start a new session",
	},
	{
		ID: "kimi-code", Name: "Kimi Code",
		Places: []Place{everywhere(User, "${KIMI_CODE_HOME:-~/.kimi-code}/mcp.json"), everywhere(Project, "./.kimi-code/mcp.json"),
			old(everywhere(Legacy, "~/.kimi/mcp.json"), "newer versions of Kimi Code read ~/.kimi-code/mcp.json")},
		Fields: usual(Fields{
			Type: "transport", Stdio: []string{"stdio"}, HTTP: []string{"http"}, SSE: []string{"sse"},
			Timeouts: []Timeout{{Field: "toolTimeoutMs", Unit: time.Millisecond}},
		}),
		Reload: "start a new session",
	},
	{
		ID: "grok-build", Name: "Grok Build",
		Places: []Place{everywhere(User, "${GROK_HOME:-~/.grok}/config.toml", way{"mcp_servers"}), everywhere(Project, "./.grok/config.toml", way{"mcp_servers"})},
		Fields: usual(Fields{Timeouts: []Timeout{{Field: "tool_timeout_sec", Unit: time.Second}}}), Comments: Yes,
		Reload: "start a new session",
	},
	{
		ID: "kilo-code", Name: "Kilo Code", Doubt: "forked from opencode and assumed to behave like it",
		Places: []Place{
			everywhere(User, "~/.config/kilo/kilo.json{,c}", way{"mcp"}),
			everywhere(Project, "./{,.kilo/}kilo.json{,c}", way{"mcp"}),
			old(with(app(Legacy, "{Code,Code - Insiders,VSCodium}/User/globalStorage/kilocode.kilo-code/settings/mcp_settings.json"), kiloOld), "newer versions of Kilo Code read ~/.config/kilo/kilo.json"),
			old(with(everywhere(Legacy, "./.kilocode/mcp.json"), kiloOld), "newer versions of Kilo Code read kilo.json or .kilo/kilo.json"),
		},
		Fields: opencodeFields, Comments: Yes, Dialect: ref.Dialect{Known: true, Forms: ref.Curly, In: ref.Everywhere},
		Reload: "restart the client",
	},
}

// Constructors for places. A way is the key path to the servers, by default mcpServers.

type way = []string

func systems(scope Scope, linux, darwin, windows string, ways ...way) Place {
	if ways == nil {
		ways = []way{{"mcpServers"}}
	}
	return Place{Scope: scope, Linux: linux, Darwin: darwin, Windows: windows, Keys: ways}
}

func everywhere(scope Scope, path string, ways ...way) Place {
	return systems(scope, path, path, path, ways...)
}

// app returns a path in the directory for the settings of desktop programs.
func app(scope Scope, path string, ways ...way) Place {
	return systems(scope, configDir+"/"+path, supportDir+"/"+path, roamingDir+"/"+path, ways...)
}

func with(p Place, f Fields) Place {
	f = usual(f)
	p.Fields = &f
	return p
}

func old(p Place, message string) Place { p.Old = message; return p }
func noted(p Place, note string) Place  { p.Note = note; return p }
func up(p Place) Place                  { p.Up = true; return p }
func unless(p Place, message, reader string) Place {
	p.Unless, p.Reader = message, reader
	return p
}
func listed(p Place) Place   { p.List = true; return p }
func private(p Place) Place  { p.Private = true; return p }
func borrowed(p Place) Place { p.Borrowed = true; return p }
