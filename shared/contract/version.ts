/** Version of this software, the same as in package.json (`npm run check` compares them). */
export const VERSION = '0.1.0'
