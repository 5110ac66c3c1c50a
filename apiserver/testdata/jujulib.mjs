// Drives a controller with @canonical/jujulib, the official JavaScript client,
// as jujulib_test.go describes. Arguments: the directory that has node_modules,
// the controller's host:port, the model's UUID, the password of admin, and the
// URLs of two charms. Prints one JSON object. The environment variable RECORD may
// name a file for the requests, in the form of testdata/requests.

import fs from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [dir, host, uuid, password, mysql, wordpress] = process.argv.slice(2);
const require = createRequire(pathToFileURL(dir + "/"));
const load = async (path) => import(pathToFileURL(require.resolve("@canonical/jujulib/dist/api/" + path)));

const { connectAndLogin, generateModelURL } = await load("client.js");
const { w3cwebsocket } = require("websocket");
const sent = new Set();
function websocket(url, ...more) {
  const socket = new w3cwebsocket(url, ...more);
  const send = socket.send;
  socket.send = (text) => {
    const { type, version, request, params } = JSON.parse(text);
    const line = `${url.includes("/model/") ? "model" : "controller"} ${type} ${version} ${request} ${JSON.stringify(params ?? {})}`;
    sent.add(line.replaceAll(password, "$PASSWORD").replaceAll(uuid, "$MODEL")
      .replaceAll(mysql, "$mysql").replaceAll(wordpress, "$wordpress"));
    send.call(socket, text);
  };
  return socket;
}
const facade = async (path) => (await load("facades/" + path + "/index.js")).default;

const login = async (url, names) =>
  connectAndLogin(
    url,
    { facades: await Promise.all(names.map(facade)), wsclass: websocket },
    { username: "admin", password },
  );

const out = {};
const failure = async (promise) => promise.then(() => "no error", (e) => e.message);

const root = await login(`wss://${host}/api`, ["controller", "model-manager", "pinger", "user-manager"]);
out.facadesAtController = Object.keys(root.conn.facades).sort();
out.server = root.conn.info.serverVersion;
out.user = root.conn.info.user.identity;
const { modelManager, controller, userManager } = root.conn.facades;
out.models = (await modelManager.listModels({ tag: "user-admin" }))["user-models"].map((m) => m.model.name);
out.allModels = (await controller.allModels({}))["user-models"].length;
out.summaries = (await modelManager.listModelSummaries({ "user-tag": "user-admin" })).results.map((r) => r.result["user-access"]);
const info = await modelManager.modelInfo({ entities: [{ tag: "model-" + uuid }, { tag: "model-deadbeef-0000-4000-8000-000000000000" }] });
out.info = [info.results[0].result.name, info.results[0].result.life, info.results[1].error.code];
out.users = (await userManager.addUser({ users: [{ username: "bob", "display-name": "Bob", password: "bob's" }, { username: "b@b", "display-name": "" }] }))
  .results.map((r) => r.error?.message ?? r.tag);
const modify = async (action, access) =>
  (await modelManager.modifyModelAccess({ changes: [{ action, access, "user-tag": "user-bob", "model-tag": "model-" + uuid }] })).results[0].error?.message;
out.grants = [await modify("grant", "write"), await modify("grant", "read"), await modify("revoke", "write"), await modify("sleep", "read")];
out.modelUsers = (await userManager.modelUserInfo({ entities: [{ tag: "model-" + uuid }] })).results.map((r) => r.result.user + " " + r.result.access);
await controller.modifyControllerAccess({ changes: [{ action: "grant", access: "superuser", "user-tag": "user-bob" }] });
out.access = (await controller.getControllerAccess({ entities: [{ tag: "user-bob" }] })).results[0].result;
await userManager.setPassword({ changes: [{ tag: "user-bob", password: "other" }] });
out.key = (await userManager.resetPassword({ entities: [{ tag: "user-bob" }] })).results[0]["secret-key"].length;
await userManager.disableUser({ entities: [{ tag: "user-bob" }] });
out.disabled = (await userManager.userInfo({ entities: [], "include-disabled": true })).results.map((r) => r.result.username + " " + r.result.disabled);
await userManager.enableUser({ entities: [{ tag: "user-bob" }] });
out.removed = [(await userManager.removeUser({ entities: [{ tag: "user-bob" }, { tag: "user-bob" }] })).results.map((r) => r.error?.message ?? null)];
root.logout();

const model = await login(generateModelURL(host, uuid), ["application", "block", "client", "charms", "machine-manager", "pinger"]);
const { application, block, client, charms, machineManager, pinger } = model.conn.facades;
out.facadesAtModel = Object.keys(model.conn.facades).sort();
await pinger.ping({});
await block.switchBlockOn({ type: "BlockChange", message: "locked" });
out.blocks = (await block.list({})).results.map((r) => [r.result.type, r.result.message, r.result.tag === "model-" + uuid]);
out.blocked = await failure(application.expose({ application: "mysql" }));
out.on = (await block.switchBlockOn({ type: "BlockChange" })).error.message;
await block.switchBlockOff({ type: "BlockChange" });
const deploy = async (name, url, more) =>
  application.deploy({
    applications: [{
      application: name, "charm-url": url, channel: "", "num-units": 1, "config-yaml": "", constraints: {}, Force: false,
      "charm-origin": { id: "", source: "local", type: "charm", base: { name: "ubuntu", channel: "22.04/stable" } }, ...more,
    }],
  });
out.deploy = (await deploy("mysql", mysql, { config: { size: "3" }, constraints: { mem: 1024, tags: ["fast"] } })).results;
out.again = (await deploy("mysql", mysql)).results[0].error;
await deploy("wordpress", wordpress);
out.relation = (await application.addRelation({ endpoints: ["wordpress", "mysql"] })).endpoints.mysql.name;
out.units = (await application.addUnits({ application: "mysql", "num-units": 1, placement: [{ scope: "#", directive: "0" }] })).units;
out.size = (await application.get({ application: "mysql", branch: "" })).config.size;
out.set = (await application.setConfigs({ Args: [{ application: "mysql", generation: "", "config-yaml": "", config: { size: "x" } }] })).results[0].error.message;
await application.setConfigs({ Args: [{ application: "mysql", generation: "", "config-yaml": "", config: { size: "4" } }] });
await application.unsetApplicationsConfig({ Args: [{ application: "mysql", branch: "", options: ["size"] }] });
out.config = (await application.charmConfig({ args: [{ application: "mysql", branch: "" }] })).Results[0].config.size.value;
await application.expose({ application: "mysql" });
out.charm = (await charms.charmInfo({ url: mysql })).meta.name;
out.hub = await failure(charms.addCharm({ url: "ch:mysql-1", force: false, "charm-origin": { id: "", source: "charm-hub", type: "charm" } }));
out.machines = (await machineManager.addMachines({ params: [{ constraints: {}, jobs: ["JobHostUnits"], "container-type": "", "parent-id": "" }] })).machines;

const status = await client.fullStatus({ patterns: [] });
out.status = {
  model: status.model.name,
  applications: Object.keys(status.applications),
  exposed: status.applications.mysql.exposed,
  base: status.applications.mysql.base,
  units: Object.keys(status.applications.mysql.units),
  machines: Object.keys(status.machines),
  relations: status.relations.map((r) => r.key),
};
out.info2 = (await application.applicationsInfo({ entities: [{ tag: "application-mysql" }] })).results[0].result.charm;
out.resolve = (await application.resolveUnitErrors({ tags: { entities: [{ tag: "unit-mysql-0" }] }, retry: true })).results[0].error.message;
await application.unexpose({ application: "mysql", "exposed-endpoints": [] });
await application.destroyRelation({ endpoints: ["wordpress", "mysql"], "relation-id": 0 });
out.destroyUnit = (await application.destroyUnit({ units: [{ "unit-tag": "unit-mysql-1" }] })).results[0].error;
out.destroy = (await application.destroyApplication({ applications: [
  { "application-tag": "application-mysql", force: false }, { "application-tag": "application-none", force: false }] })).results.map((r) => r.error?.code);
out.destroyMachine = (await machineManager.destroyMachineWithParams({ "machine-tags": ["machine-2"] })).results[0].info["machine-id"];
model.logout();

// The facades that are left: the calls of methods that read, and of some that change, which fail.
const calls = async (url, names, all) => {
  const { conn, logout } = await login(url, names);
  for (const [name, methods] of Object.entries(all))
    for (const [method, args] of Object.entries(methods))
      await conn.facades[name][method](args).catch((e) => { out.others[`${name}.${method}`] = e.message; });
  logout();
};
const entities = (...tags) => ({ entities: tags.map((tag) => ({ tag })) });
out.others = {};
await calls(generateModelURL(host, uuid),
  ["action", "annotations", "bundle", "key-manager", "model-config", "resources", "secrets", "spaces", "sshclient", "storage", "subnets"], {
    action: {
      run: { commands: "true", units: ["wordpress/0"] }, runOnAllMachines: { commands: "true" },
      enqueueOperation: { actions: [{ receiver: "unit-wordpress-0", name: "juju-exec", parameters: { command: "true", timeout: 0 } }] },
      listOperations: { applications: [], units: [], machines: [], actions: [], status: [], limit: 5, offset: 0 },
      operations: entities("operation-1"), actions: entities("action-2"), cancel: entities("action-2"),
      applicationsCharmsActions: entities("application-mysql"), watchActionsProgress: entities("action-2"),
    },
    annotations: {
      set: { annotations: [{ entity: "application-mysql", annotations: { "gui-x": "1" } }] }, get: entities("application-mysql"),
    },
    bundle: {
      exportBundle: { "include-charm-defaults": false, "include-series": false },
      getChangesMapArgs: { bundleURL: "", yaml: `applications: {other: {charm: "${mysql}", num_units: 1}}` },
    },
    keyManager: { listKeys: { entities: { entities: [{ tag: "admin" }] }, mode: false } },
    modelConfig: {
      modelGet: {}, modelSet: { config: { "update-status-hook-interval": "7m" } },
      modelUnset: { keys: ["update-status-hook-interval"] }, sequences: {},
      setModelConstraints: { application: "", constraints: { mem: 512 } }, getModelConstraints: {},
    },
    resources: { listResources: entities("application-mysql") },
    secrets: { listSecrets: { "show-secrets": false, filter: {} } },
    spaces: {
      createSpaces: { spaces: [{ "space-tag": "space-dmz", cidrs: [], public: false }] }, listSpaces: {}, showSpace: entities("space-dmz"),
      renameSpace: { changes: [{ "from-space-tag": "space-dmz", "to-space-tag": "space-zone" }] }, reloadSpaces: {},
      removeSpace: { "space-param": [{ space: { tag: "space-zone" }, force: false, "dry-run": false }] },
    },
    sshClient: { publicKeys: entities("unit-mysql-0"), proxy: {} },
    storage: {
      createPool: { pools: [{ name: "fast", provider: "rootfs", attrs: {} }] }, listPools: { filters: [{ names: [], providers: [] }] },
      updatePool: { pools: [{ name: "fast", provider: "rootfs", attrs: {} }] }, removePool: { pools: [{ name: "fast" }] },
      listFilesystems: { filters: [{ machines: [] }] }, listVolumes: { filters: [{ machines: [] }] }, listStorageDetails: { filters: [{}] },
    },
    subnets: { allZones: {}, listSubnets: {}, subnetsByCIDR: { cidrs: ["10.0.0.0/8"] } },
  });
await calls(`wss://${host}/api`,
  ["application-offers", "cloud", "controller", "model-manager", "secret-backends", "user-manager"], {
    applicationOffers: {
      offer: { Offers: [{ "model-tag": "model-" + uuid, "offer-name": "blog", "application-name": "wordpress", "application-description": "", endpoints: { "juju-info": "juju-info" } }] },
      applicationOffers: { "offer-urls": ["admin/default.blog"] },
      listApplicationOffers: { Filters: [{ "owner-name": "", "model-name": "default", "offer-name": "", "application-name": "", "application-description": "", "application-user": "", endpoints: [], "connected-users": [], "allowed-users": [] }] },
      findApplicationOffers: { Filters: [{ "owner-name": "admin", "model-name": "default", "offer-name": "", "application-name": "", "application-description": "", "application-user": "", endpoints: [], "connected-users": [], "allowed-users": [] }] },
      getConsumeDetails: { "offer-urls": { "offer-urls": ["admin/default.blog"] } },
      modifyOfferAccess: { changes: [{ "user-tag": "user-admin", action: "grant", access: "read", "offer-url": "admin/default.blog" }] },
      destroyOffers: { "offer-urls": ["admin/default.blog"], force: false },
    },
    cloud: {
      clouds: {}, cloud: entities("cloud-dummy"), cloudInfo: entities("cloud-dummy"), listCloudInfo: { "user-tag": "user-admin", all: true },
      userCredentials: { "user-clouds": [{ "user-tag": "user-admin", "cloud-tag": "cloud-dummy" }] },
      credentialContents: { credentials: [], "include-secrets": false }, modelConfigSchema: {},
      checkCredentialsModels: { credentials: [] }, revokeCredentialsCheckModels: { credentials: [] },
    },
    controller: {
      controllerConfig: {}, controllerVersion: {}, modelStatus: entities("model-" + uuid), hostedModelConfigs: {}, listBlockedModels: {},
      controllerAPIInfoForModels: entities("model-" + uuid), cloudSpec: entities("model-" + uuid), mongoVersion: {}, identityProviderURL: {},
      configSet: { config: {} },
    },
    modelManager: {
      modelStatus: entities("model-" + uuid), modelDefaultsForClouds: entities("cloud-dummy"), dumpModels: { ...entities("model-" + uuid), simplified: false },
      dumpModelsDB: entities("model-" + uuid), changeModelCredential: { "model-credentials": [] },
      setModelDefaults: { config: [{ config: { "automatically-retry-hooks": "false" } }] }, unsetModelDefaults: { keys: [{ keys: ["automatically-retry-hooks"] }] },
      createModel: { name: "third", "owner-tag": "user-admin", config: {} },
    },
    secretBackends: { listSecretBackends: { names: null, reveal: false } },
  });

if (process.env.RECORD) fs.writeFileSync(process.env.RECORD, [...sent].join("\n") + "\n");
out.wrong = await failure(connectAndLogin(`wss://${host}/api`, { facades: [], wsclass: websocket }, { username: "admin", password: "guess" }));
console.log(JSON.stringify(out));
process.exit(0);
