"""Who: users, teams, memberships, rights and API tokens."""
