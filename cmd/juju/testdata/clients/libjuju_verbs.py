"""What python-libjuju has beside deploying, relating and running: users, clouds, keys, spaces, storage and resources.

Each function takes call, which awaits a call of the library and judges what became of it.
"""

import os
import subprocess

from juju.client import client
from juju.model import Model

KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHAlS9JfGyWpfwWcGmWNGAqYwSqRz5bV4HhSPn2d8f1T eve@example'


async def users(call, c):
    """Add, change and remove users, and give them access."""
    async def password():
        bob = await c.get_user('bob')
        assert (bob.username, bob.display_name, bob.enabled) == ('bob', 'Bob', True), bob._user_info
        await bob.set_password('other')
        assert (await c.reset_user_password('bob')).secret_key

    async def disable():
        await c.disable_user('bob')
        assert (await c.get_user('bob')).disabled
        await c.enable_user('bob')
        assert (await c.get_user('bob')).enabled

    async def access():
        id = (await c.model_uuids())['default']
        await c.grant_model('bob', id, 'write')
        users = (await c.get_model_info('default')).users
        assert ('bob', 'write') in [(u.user, u.access) for u in users], [vars(u) for u in users]
        await c.revoke_model('bob', id, 'write')
        bob = await c.get_user('bob')
        await bob.grant('admin', model_name='default')
        await bob.revoke('read', model_name='default')
        await c.revoke('bob', 'superuser')
        bob = await c.get_user('bob')
        assert bob.access == 'login', bob.access

    async def me():
        me = await c.get_current_user()
        assert (me.username, c.get_current_username()) == ('admin', 'admin') and me.last_connection, me._user_info

    async def remove():
        await c.remove_user('bob')
        assert 'bob' not in [u.username for u in await c.get_users()]

    await call('get_current_user', me())
    await call('password', password())
    await call('disable_user', disable())
    await call('grant_model', access())
    await call('remove_user', remove())


async def clouds(call, c):
    """Read a model by name, and change credentials, secret back ends and clouds."""
    async def model():
        m = await c.get_model('default')
        assert m.info.name == 'default' and await m.get_machines() == [], m.info
        await m.disconnect()
        assert 'default' in await c.get_models()

    async def credential():
        credential = client.CloudCredential(auth_type='empty', attrs={})
        assert await c.add_credential('mine', credential=credential) == 'mine'

    await call('get_model', model())
    await call('add_credential', credential())
    await call('add_cloud', c.add_cloud('mycloud', client.Cloud(auth_types=['empty'], type_='local')))
    await call('list_secret_backends', c.list_secret_backends())


async def model(call, m):
    """Change what a model has of its own: keys, spaces, pools, secrets, backups."""
    async def keys():
        await m.add_ssh_key('admin', KEY)
        keys = (await m.get_ssh_key(raw_ssh=True)).results[0].result
        assert KEY in keys, keys
        await m.remove_ssh_key('admin', KEY)
        keys = (await m.get_ssh_key(raw_ssh=True)).results[0].result
        assert KEY not in keys, keys

    async def spaces():
        added = await m.add_space('dmz', [])
        assert added.results[0].error is None, added
        assert 'dmz' in [s.name for s in await m.get_spaces()]

    async def pools():
        await m.create_storage_pool('scratch', 'local', 'storage-dir=/srv/one')
        await m.update_storage_pool('scratch', 'storage-dir=/srv/two')
        pools = {p['name']: p for p in await m.list_storage_pools()}
        assert pools['scratch']['attrs'] == {'storage-dir': '/srv/two'}, pools
        await m.remove_storage_pool('scratch')
        assert 'scratch' not in [p['name'] for p in await m.list_storage_pools()]

    async def secrets():
        assert await m.list_secrets() == []
        uri = await m.add_secret('login', ['password=one', 'user=bob'], info='of the shop')
        await m.update_secret('login', ['password=two'])
        (secret,) = await m.list_secrets(show_secrets=True)
        assert (secret.uri, secret.label, secret.latest_revision, secret.value.data) == (uri, 'login', 2, {'password': 'dHdv'}), secret
        await m.update_secret('login', new_name='key', info='of all')
        (secret,) = await m.list_secrets()
        assert (secret.label, secret.description, secret.latest_revision, secret.value) == ('key', 'of all', 2, None), secret
        await m.remove_secret('key', revision=1)
        app = next(iter(m.applications))
        await m.grant_secret('key', app)
        (secret,) = await m.list_secrets()
        assert secret.unknown_fields['access'][0]['target-tag'] == f'application-{app}', secret
        assert [r.revision for r in secret.revisions] == [2], secret
        await m.revoke_secret('key', app)
        await m.remove_secret('key')
        assert await m.list_secrets() == []

    await call('add_ssh_key', keys())
    await call('add_space', spaces())
    await call('storage pools', pools())
    await call('secrets', secrets())
    await call('get_metrics', m.get_metrics())


async def storage(call, m, charms, until):
    """Deploy a service with storage and a resource, and change them."""
    async def ready():
        await until(m, lambda: app.units and app.units[0].workload_status == 'active')
        machine = app.units[0].machine
        assert app.units[0].agent_status_since and machine.agent_version and machine.addresses, machine.data

    async def grow():
        tags = await app.units[0].add_storage('data', size=10)
        assert tags == ['storage-data-1'], tags
        details = await m.show_storage_details('data/1')
        assert details[0]['storage-tag'] == 'storage-data-1', details
        assert [d['owner-tag'] for d in await m.list_storage()] == ['unit-store-0'] * 2
        await until(m, lambda: app.units[0].agent_status == 'idle')

    async def detach():
        await app.units[0].detach_storage('data/1')
        while 'unit-store-0' in [a for d in await m.show_storage_details('data/1') for a in d.get('attachments') or {}]:
            pass
        await app.units[0].attach_storage(['data/1'])
        await m.remove_storage('storage-data-1', force=True, destroy_storage=True)

    async def resource():
        path = os.path.join(charms, 'store', 'metadata.yaml')
        with open(path) as file:
            app.attach_resource('file', path, file)
        facade = client.ResourcesFacade.from_connection(m.connection())
        resources = (await facade.ListResources([client.Entity(app.tag)])).results[0].resources
        assert [r.unknown_fields['size'] for r in resources] == [os.path.getsize(path)], [vars(r) for r in resources]

    async def trust():
        await app.set_trusted(True)
        assert await app.get_trusted() is True

    async def actions():
        action = await app.units[0].run('echo hello')
        await action.wait()
        assert (await m.get_action_output(action.id))['stdout'].strip() == 'hello'

    async def destroy():
        await m.destroy_units('store/0', destroy_storage=True)
        await until(m, lambda: not app.units)
        await m.remove_application('store', block_until_done=True, destroy_storage=True)

    # The library's own deploy fails at storage, whatever form it has.
    path = os.path.join(charms, 'store')
    subprocess.run(['juju', 'deploy', '-q', '-m', m.name, path, '--storage', 'data=10M',
                    '--resource', 'file=' + os.path.join(path, 'metadata.yaml')], check=True)
    await call('with storage', until(m, lambda: 'store' in m.applications))
    app = m.applications['store']
    await call('storage is ready', ready())
    await call('add_storage', grow())
    await call('detach_storage', detach())
    await call('attach_resource', resource())
    await call('set_trusted', trust())
    await call('get_action_output', actions())
    await call('destroy_units', destroy())
