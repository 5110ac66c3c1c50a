// Package hooktools has the hook tools: what each is called and takes, its help, and what it does for the hook that
// calls it. A tool knows its hook through a Context alone.
//
// In a charm's PATH the tools are links, made by Install, to the small program cmd/hook-tool. It sends its arguments to
// the unit agent with the protocol of package hooks/tool, and package hooks, whose contexts the tools work on, has Run
// answer. The scripts in hooks/testdata test the tools.
package hooktools
