package main

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// codeRenderer renders blocks of code. What follows the language of a fenced one is the file that it is of, which is shown;
// commands, unlike what they print, are marked.
type codeRenderer struct{}

func (codeRenderer) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindCodeBlock, renderCode)
	r.Register(ast.KindFencedCodeBlock, renderCode)
}

func renderCode(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	begin := `<pre tabindex="0"><code>`
	if fenced, ok := n.(*ast.FencedCodeBlock); ok && fenced.Info != nil {
		switch kind, file, _ := strings.Cut(string(fenced.Info.Segment.Value(source)), " "); {
		case file != "":
			_, _ = w.WriteString(`<p class="file">`)
			_, _ = w.Write(util.EscapeHTML([]byte(file)))
			_, _ = w.WriteString("</p>\n")
		case kind == "sh":
			begin = `<pre class="sh" tabindex="0"><code>`
		}
	}
	_, _ = w.WriteString(begin)
	_, _ = w.Write(util.EscapeHTML(n.Lines().Value(source)))
	_, _ = w.WriteString("</code></pre>\n")
	return ast.WalkSkipChildren, nil
}
