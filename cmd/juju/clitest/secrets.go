package clitest

import (
	"context"
	"fmt"

	"juju/apiserver/client"
	"juju/state/entity"
)

func (f *FakeModel) Secrets(_ context.Context, of client.SecretsFilter, reveal bool) ([]client.Secret, error) {
	return f.Returns.Secrets, f.Note("Secrets", of, " ", reveal)
}

func (f *FakeModel) AddSecret(_ context.Context, name string, set entity.SecretSettings) (string, error) {
	return "secret:9m4e2mr0ui3e8a215n4g", f.Note("AddSecret", name, settingsOf(set))
}

func (f *FakeModel) UpdateSecret(
	_ context.Context, secret client.SecretName, set entity.SecretSettings, prune *bool,
) error {
	args := []any{secret, settingsOf(set)}
	if set.Label != nil {
		args = append(args, " named ", *set.Label)
	}
	if prune != nil {
		args = append(args, " pruned: ", *prune)
	}
	return f.Note("UpdateSecret", args...)
}

// settingsOf returns what is set, with the content, which does not print by itself.
func settingsOf(set entity.SecretSettings) string {
	text := ""
	if set.Content != nil {
		text += fmt.Sprint(" ", map[string]string(set.Content))
	}
	if set.Description != nil {
		text += " about " + *set.Description
	}
	return text
}

func (f *FakeModel) RemoveSecret(_ context.Context, secret client.SecretName, revisions ...int) error {
	return f.Note("RemoveSecret", secret, " ", revisions)
}

func (f *FakeModel) GrantSecret(_ context.Context, secret client.SecretName, services []string) ([]error, error) {
	return f.Returns.Errs, f.Note("GrantSecret", secret, " ", services)
}

func (f *FakeModel) RevokeSecret(_ context.Context, secret client.SecretName, services []string) ([]error, error) {
	return f.Returns.Errs, f.Note("RevokeSecret", secret, " ", services)
}
