package doctor

import "strings"

// schemaClues returns how validators and model providers report an invalid tool schema: the path to
// the schema with a complaint, or a complaint about JSON Schema itself.
func schemaClues() map[string][]clue {
	return map[string][]clue{
		"schema_not_parseable": {
			// ajv, jsonschema, gojsonschema, python-jsonschema, networknt
			{certain, `(?i)no schema with key or ref "|\bjsonschema\.exceptions\.SchemaError\b|strict mode: (?:unknown (?:format|keyword)|missing type|use allowUnionTypes|"\w+" is )|keyword "[^"\n]+" (?:value )?(?:is invalid|must be)|schema with key or id "[^"\n]*" already exists|unknown format "[^"\n]+" (?:ignored|used) in schema|MissingRefError|\$ref[^\n]{0,40}(?:cannot be resolved|not found|unresolvable)|(?:RefResolution|Unresolvable|_WrappedReferencing)Error`, nil},
			{strong, `(?i)\breference ['"` + "`" + `]?#/(?:properties|\$defs|definitions|components)/[^\n]{0,200}\b(?:not found|unresolved|cannot be resolved|does not exist)`, nil},
			// zod and pydantic name the path in the list of tools
			{certain, `(?s)"path": ?\[\s*"tools",\s*\d+,\s*"(?:inputSchema|outputSchema)"`, nil},
			{certain, `(?s)validation errors? for ListToolsResult\s+tools\.\d+\.(?:input|output)Schema`, nil},
			{certain, `(?i)\btools\.\d+\.(?:input_?schema|output_?schema|custom\.input_schema|function\.parameters|parameters)\b`, ofSchema},
			{certain, `(?i)\btools(?:\[\d+\]|\.\d+)(?:\.\w+)*\.(?:parameters|input_?schema)\b[^\n]{0,200}`, ofSchema},
			{certain, `\binvalid_function_parameters\b|(?i)\btoolSpec\.inputSchema\b|\bfunction\.parameters\b[^\n]{0,40}\b(?:must|should|is not|invalid)`, nil},
			{certain, `(?i)\b(?:json )?schema\b[^\n]{0,30}\b(?:must|should|needs? to) (?:be|have)(?: an?| of)? (?:object|type|JSON Schema|['"]type)[^\n]{0,60}`, notSettings},
			{certain, `(?i)\binput_?schema\b[^\n]{0,60}\b(?:is (?:not (?:a )?valid|invalid|missing|required|undefined|null|malformed)|must (?:be|have|contain)|cannot be (?:parsed|converted|null)|failed|not supported)`, nil},
			{strong, `(?i)(?:convert|pars|resolv|compil|transform|sanitiz|flatten|deref)\w*[^\n]{0,40}\b(?:input_?schema|tool schema|tool parameters|tool definitions?)\b`, schemaComplaint},
			{strong, `(?i)\b(?:resolve_ref|\$defs|\$ref|definitions)\b[^\n]{0,60}\b(?:input_?schema|tool)\b|\binput_?schema\b[^\n]{0,60}(?:\$ref|\$defs)`, schemaComplaint},
			{strong, `(?i)\btool\b[^\n]{0,60}\b(?:has (?:an )?invalid JSON|invalid (?:JSON )?(?:schema|parameters)|schema (?:is )?(?:invalid|rejected|not supported|error))`, nil},
			{strong, `(?i)\b(?:unsupported|invalid|unknown|disallowed) (?:JSON )?schema (?:keyword|type|feature|property|construct|node|format|field)s?\b|\bUnsupported JSON schema\b|\b(?:additionalProperties|patternProperties|prefixItems|exclusiveMinimum|anyOf|oneOf|allOf|\$ref|\$schema|const|nullable)\b[^\n]{0,40}\b(?:is|are) not (?:supported|allowed|permitted) (?:in|by|for)\b`, nil},
			// Google's client library validates schemas with its own model
			{strong, `(?s)validation errors? for (?:Schema|FunctionDeclaration|Tool|ToolSpec)\s+[\w.\[\]-]+\s+(?:Extra inputs|Input should|Field required|Value error)`, nil},
		},
		"tool_name_too_long": {
			{certain, `(?i)\btools?(?:\[\d+\]|\.\d+)[\w.]*\.name\b|\btoolSpec\.name\b`, complainsOfName},
			{certain, `(?i)\bdoes not match (?:the )?(?:pattern |regex )?['"` + "`" + `/]?\^\[a-zA-Z0-9_`, nil},
			{strong, `(?i)\b(?:tool|function|server) names?\b[^\n]{0,80}\b(?:regular expression|pattern|only (?:contain|letters|alphanumeric)|alphanumeric|\d+ characters|already (?:exists|in use|taken))`, nil},
		},
		"schema_gemini_subset": {
			{certain, `(?i)\bfunctionDeclaration\b|\bfunction_declarations?\b[^\n]{0,160}\b(?:properties|items|enum|format|required|type)\b`, schemaComplaint},
		},
		"invalid_jsonrpc_message": {
			{certain, `(?i)\bhas an output schema but\b|\bstructured ?content\b[^\n]{0,40}\b(?:does not|did not|invalid|required|not provided)`, nil},
		},
	}
}

// ofSchema reports whether a line complains about a schema and not about arguments for a tool.
func ofSchema(_ *exam, m *match) bool { return aboutValidity.MatchString(m.said) }

func complainsOfName(_ *exam, m *match) bool {
	return aboutValidity.MatchString(m.said) || strings.Contains(m.said, "satisfy") || strings.Contains(m.said, "match") || strings.Contains(m.said, "exceed")
}

func schemaComplaint(_ *exam, m *match) bool { return complains.MatchString(m.said) }

var complains = &wording{source: `(?i)error|fail|invalid|unable|cannot|could not|unsupported|not supported|must|missing|specified|exceeded|reject`}

// notSettings reports whether a line is about a tool's schema and not about a configuration's.
func notSettings(x *exam, m *match) bool {
	return !aboutConfigLine(x, m) && toolWord.MatchString(x.text)
}

var toolWord = &wording{source: `(?i)\b(?:tools?|functions?)\b`}
