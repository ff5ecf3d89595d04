/** Who may be logged in: the server's own user, the configured one, and those named by --allow-user (contract 5.7). */
export function allowedUsers(names: {
  readonly serverUser: string;
  readonly configuredUser: string | undefined;
  readonly allowUsers: readonly string[];
}): (user: string) => boolean {
  const { serverUser, configuredUser, allowUsers } = names;
  const allowed = new Set([serverUser, ...allowUsers]);
  if (configuredUser !== undefined) allowed.add(configuredUser);
  return (user) => allowed.has(user);
}
