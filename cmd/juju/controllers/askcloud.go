package controllers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/cloudfiles"
	"juju/cmd/juju/clouds"
	"juju/state/entity"
)

// askCloud asks for what defines a cloud, and defines it. args may have its name.
func askCloud(ctx context.Context, s *cli.Session, args []string) error {
	st, err := s.Store()
	if err != nil {
		return err
	}
	all, err := clouds.Defined(st)
	if err != nil {
		return err
	}
	var one cloudfiles.Cloud
	free := func(name string) error {
		err := checkCloud([]string{name}, 1)
		if err == nil {
			err = cloudfiles.CheckName("cloud", name)
		}
		if err == nil {
			_, err = clouds.Check(name, cloudfiles.Cloud{Type: clouds.Default})
		}
		if err == nil {
			err = mayAdd(all, name)
		}
		return err
	}
	name := ""
	if len(args) > 0 {
		if name = args[0]; free(name) != nil {
			return free(name)
		}
	}
	one.Type, err = s.AskValid(ctx, fmt.Sprintf("Cloud types: %s\nSelect cloud type: ", clouds.Names()), "",
		func(answer string) error {
			_, err := clouds.AuthTypes(cloudfiles.Cloud{Type: answer})
			return err
		})
	if err == nil && name == "" {
		name, err = s.AskValid(ctx, fmt.Sprintf("Enter a name for your %s cloud: ", one.Type), "", free)
	}
	if err != nil {
		return err
	}
	if question := clouds.Homes[one.Type].Questions().Endpoint; question != "" {
		if err := askEndpoints(ctx, s, &one, question); err != nil {
			return err
		}
	}
	return writeCloud(ctx, s, name, one, mayAdd)
}

// askEndpoints asks for the endpoint of a cloud and for its regions.
func askEndpoints(ctx context.Context, s *cli.Session, c *cloudfiles.Cloud, question string) (err error) {
	check := func(endpoint string) error {
		_, err := clouds.AuthTypes(cloudfiles.Cloud{Type: c.Type, Endpoint: endpoint})
		return err
	}
	if c.Endpoint, err = s.AskValid(ctx, question+": ", "", check); err != nil {
		return err
	}
	prompt := fmt.Sprintf("Enter region [%s]: ", entity.CloudRegion)
	for {
		region := cloudfiles.Region{}
		region.Name, err = s.AskValid(ctx, prompt, entity.CloudRegion, func(answer string) error {
			if slices.Contains(c.Regions.Names(), answer) {
				return entity.Errorf(entity.AlreadyExists, "region %q is already there", answer)
			}
			return cloudfiles.CheckName("region", answer)
		})
		if err == nil {
			region.Endpoint, err = s.AskValid(ctx, fmt.Sprintf("Enter the endpoint of region %q [the cloud's]: ",
				region.Name), "", check)
		}
		if err != nil {
			return err
		}
		c.Regions = append(c.Regions, region)
		more, err := s.Ask(ctx, "Enter another region? (y/N): ")
		if err != nil || !cli.IsYes(more) {
			return err
		}
		prompt = "Enter region: "
	}
}

// askCredential asks for a credential and adds it. args may have the name of its cloud.
func askCredential(ctx context.Context, s *cli.Session, args []string) error {
	st, err := s.Store()
	if err != nil {
		return err
	}
	cloud := ""
	if len(args) > 0 {
		cloud = args[0]
	} else {
		own, err := clouds.Defined(st)
		if err != nil {
			return err
		}
		if len(own) == 0 {
			return entity.WithHint(errors.New("cannot add a credential: you have defined no cloud, and the built-in ones need none"),
				"To define one: juju add-cloud")
		}
		cloud, err = s.AskValid(ctx, fmt.Sprintf("Clouds: %s\nSelect cloud: ",
			strings.Join(slices.Sorted(maps.Keys(own)), ", ")), "",
			func(answer string) error {
				_, err := clouds.Find(st, answer)
				return err
			})
		if err != nil {
			return err
		}
	}
	c, err := clouds.Find(st, cloud)
	if err != nil {
		return err
	}
	types, err := clouds.AuthTypes(c)
	if err != nil {
		return err
	}
	if slices.Equal(types, []string{entity.AuthEmpty}) {
		return entity.Errorf(entity.NotSupported, "cannot add a credential: cloud %q needs none", cloud)
	}
	has, err := cloudfiles.ReadCredentials(st)
	if err != nil {
		return err
	}
	name, err := s.AskValid(ctx, "Enter credential name: ", "", func(answer string) error {
		if _, ok := has[cloud].Named[answer]; ok {
			return credentialExists(cloud, answer)
		}
		return cloudfiles.CheckCredentialName(answer)
	})
	if err != nil {
		return err
	}
	one, err := askAttributes(ctx, s, cloud, c, types)
	if err != nil {
		return err
	}
	return addCredentials(ctx, s, cloud, cloudfiles.Credentials{Named: map[string]entity.CloudCredential{name: one}})
}

// askAttributes asks for the kind and the attributes of a credential, of these all again if they can't be used together.
func askAttributes(
	ctx context.Context, s *cli.Session, cloud string, c cloudfiles.Cloud, types []string,
) (one entity.CloudCredential, err error) {
	if len(types) == 1 {
		one.AuthType = types[0]
		fmt.Fprintf(s.Stderr, "Using auth-type %q.\n\n", one.AuthType)
	} else {
		one.AuthType, err = s.AskValid(ctx, fmt.Sprintf("Auth types: %s\nSelect auth-type: ", strings.Join(types, ", ")), "",
			func(answer string) error {
				if !slices.Contains(types, answer) {
					return entity.Errorf(entity.Invalid, "auth-type %q is not supported", answer)
				}
				return nil
			})
		if err != nil || one.AuthType == entity.AuthEmpty {
			return one, err
		}
	}
	questions := clouds.Homes[c.Type].Questions().Attributes
	err = s.AskAgain(ctx, func() error {
		one.Attributes = map[string]string{}
		for _, q := range questions {
			answer, err := s.Ask(ctx, q.Prompt+": ")
			if err != nil {
				return err
			}
			if answer = strings.TrimSpace(answer); answer != "" {
				one.Attributes[q.Key] = answer
			}
		}
		return clouds.CheckCredential(cloud, c, &one)
	})
	return one, err
}
