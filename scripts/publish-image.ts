import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readOptions } from './releases/options.ts'

const help = `npm run publish-image -- --to IMAGE [--dry-run]

Builds the container image by buildah and pushes it with the tags of its version, such as 1.2.3, 1.2 and latest.

  --to IMAGE      its name with the registry's host, without a tag
  --dry-run       prints the commands
  --help          prints this text

IMAGE_USER and IMAGE_PASSWORD sign in to the registry.`

const values = readOptions(help, {
  to: { type: 'string' },
  'dry-run': { type: 'boolean', default: false },
})
const image = values.to
if (!image || !/^[a-z0-9.:-]+\/[a-z0-9._/-]+$/.test(image)) {
  console.error('publish-image: --to must be the name of an image with its host, such as registry.example/trunkline')
  process.exit(2)
}

const root = join(import.meta.dirname, '..')
const { version }: { version: string } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const { IMAGE_USER: user, IMAGE_PASSWORD: password } = process.env

const buildah = (args: readonly string[], input?: string): void => {
  console.log(`buildah ${args.join(' ')}`)
  if (values['dry-run']) return
  const { status } = spawnSync('buildah', args, { cwd: root, stdio: ['pipe', 'inherit', 'inherit'], input })
  if (status !== 0) process.exit(status ?? 1)
}

const built = `trunkline:${version}`
// Docker's format has the health check.
const how = ['--format', 'docker', '--build-arg', `VERSION=${version}`, '--file', 'deploy/Containerfile']
buildah(['build', ...how, '--tag', built, '.'])
if (user && password) buildah(['login', '--username', user, '--password-stdin', image.split('/')[0] ?? ''], password)
const [, minor = ''] = /^(\d+\.\d+)\./.exec(version) ?? []
// A version before its release has no other tags.
const tags = version.includes('-') ? [version] : [version, minor, 'latest']
for (const tag of tags) buildah(['push', built, `${image}:${tag}`])
